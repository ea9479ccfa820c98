-- Worker processes, as the recovery of lost turns and the operator see them.

-- One row per worker process; `beat_at` is renewed every second on its lock connection.
create table workers (
  id text primary key,
  application_name text not null,
  host text not null default '',
  pid integer,
  -- Turns that it runs at once, at most.
  slots integer not null default 0,
  -- Whether it had a free slot for a turn at its last beat.
  has_room boolean not null default true,
  -- Whether it listened for announced jobs at its last beat: of many workers that have room only some do.
  listens boolean not null default true,
  -- The names under which the queue knows this process.
  queue_worker_ids text[] not null default '{}',
  -- An operator asked this worker to take nothing new; it reads this with its beat.
  drain_requested_at timestamptz,
  started_at timestamptz not null default now(),
  beat_at timestamptz not null default now()
);

-- Which worker recovers what lost workers left, and until when; at most one row (`src/kernel/queue/lease.ts`).
create table reaper_lease (
  single boolean primary key default true check (single),
  worker_id text not null,
  ends_at timestamptz not null
);
