-- What an operator's page shows of the HTTP processes, and of the installation's last day.

-- One row per HTTP process, which it renews every 15 seconds (`src/installation/http-processes.ts`) and takes away when it
-- ends; those of processes that are lost are taken away by the others.
create table http_processes (
  id text primary key,
  host text not null,
  pid integer not null,
  version text not null,
  memory_bytes bigint not null,
  started_at timestamptz not null default now(),
  beat_at timestamptz not null default now()
);

-- How the installation was in each minute of the last day; the worker that recovers for all writes it
-- (`src/installation/gauges.ts`).
create table gauges (
  at timestamptz primary key,
  turns_waiting integer not null,
  turns_running integer not null,
  jobs_ready integer not null,
  -- How long the turn or job that has waited longest has waited.
  oldest_seconds double precision not null,
  dead_letters integer not null,
  http_memory_bytes bigint not null,
  worker_memory_bytes bigint not null,
  postgres_connections integer not null
);
