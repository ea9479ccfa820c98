-- Tasks, which run prompts in the background, and their runs (`/v1/tasks`). No foreign keys: the rows of a deleted
-- agent are deleted in batches, by the job `agent.purge`.

create table tasks (
  id text primary key,
  tenant_id text not null,
  agent_id text not null,
  -- Null follows the agent's current version at each run's start.
  agent_version integer,
  name text not null,
  prompt text not null,
  -- `{ kind, config }`; null means on demand only.
  schedule json,
  enabled boolean not null default true,
  -- When the schedule fires next; its job carries this time and does nothing once it has changed. Null when it will
  -- not fire.
  next_fire_at timestamptz,
  user_id text not null default '',
  metadata json not null default '{}',
  -- The JSON Schema that answers have to fit; null: any text is one.
  response_format json,
  deleted_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create index tasks_updated on tasks (tenant_id, updated_at desc, id desc) where deleted_at is null;
create index tasks_agent_updated on tasks (tenant_id, agent_id, updated_at desc, id desc) where deleted_at is null;
create index tasks_user_updated on tasks (tenant_id, user_id, updated_at desc, id desc) where deleted_at is null;
-- "Which fires are overdue?" (recovery): never more rows than there are tasks that will fire, read from the oldest on.
create index tasks_due on tasks (next_fire_at) where next_fire_at is not null;
-- "Which tasks are pinned to this version?" (earlier use of a provider), and "Which tasks did this deleted
-- agent leave?".
create index tasks_pinned on tasks (agent_id, agent_version);

create table task_runs (
  id text primary key,
  task_id text not null,
  tenant_id text not null,
  agent_id text not null,
  -- Resolved when the run was started.
  agent_version integer not null,
  -- Whether the task named that version: then the session is pinned to it.
  pinned boolean not null,
  -- The settings that it was started with; the task's own may change meanwhile.
  prompt text not null,
  user_id text not null,
  metadata json not null,
  response_format json,
  status text not null default 'queued'
    check (status in ('queued', 'running', 'blocked', 'succeeded', 'failed', 'canceled')),
  -- `{ code, message }`, the code being a cause.
  error json,
  session_id text,
  turn_id text,
  request_id text not null,
  started_at timestamptz,
  finished_at timestamptz,
  cancel_requested_at timestamptz,
  canceled_at timestamptz,
  -- By the clock, not the transaction: runs of a task are made under its row's lock, so that the last one is the
  -- newest.
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
-- At most one run of a task is queued or running.
create unique index task_runs_one_active on task_runs (task_id) where status in ('queued', 'running');
create index task_runs_newest on task_runs (task_id, created_at desc, id desc);
-- The end of a turn ends its run.
create unique index task_runs_turn on task_runs (turn_id) where turn_id is not null;
-- Runs whose start may be lost (recovery).
create index task_runs_queued on task_runs (created_at) where status = 'queued';
