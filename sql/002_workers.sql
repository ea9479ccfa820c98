-- Worker processes, as the recovery of lost turns and the operator see them.

-- One row per worker process; `beat_at` is renewed every second on its lock connection.
create table workers (
  id text primary key,
  application_name text not null,
  host text not null default '',
  pid integer,
  -- Turns that it runs at once, at most.
  slots integer not null default 0,
  -- The names under which the queue knows this process.
  queue_worker_ids text[] not null default '{}',
  -- An operator asked this worker to take nothing new; it reads this with its beat.
  drain_requested_at timestamptz,
  started_at timestamptz not null default now(),
  beat_at timestamptz not null default now()
);
