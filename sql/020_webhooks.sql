-- Webhooks (`/v1/webhooks`): addresses of a tenant's own that are told what happened, and what is on its way to them.

create table webhooks (
  id text primary key,
  tenant_id text not null references tenants (id),
  url text not null,
  -- The types of events that it is told of.
  events text[] not null,
  description text not null default '',
  enabled boolean not null default true,
  -- `{ code, message }`: why it was disabled by itself; null when a person did it, or nobody.
  disabled_reason json,
  sealed_secret bytea not null,
  -- The secret before the last rotation, which signs beside the new one until then.
  sealed_previous_secret bytea,
  previous_secret_until timestamptz,
  -- Since when every attempt failed; null: the last one succeeded, or there was none.
  failing_since timestamptz,
  -- The last attempt failed, and so did all before it for a while: nothing is sent before this.
  paused_until timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index webhooks_newest on webhooks (tenant_id, created_at desc, id desc);
-- "Which webhooks are told of this?", asked by every statement that makes an event true: where there are none, one
-- probe is all it costs.
create index webhooks_enabled on webhooks (tenant_id) where enabled;

-- One row per event and webhook that was enabled for it, written in the statement that makes the event true. No
-- foreign key: a turn's end must not wait for the deletion of a webhook, nor fail because of it. What comes too late
-- is deleted by the job that would send it.
create table webhook_deliveries (
  -- The message's id, the same in each attempt.
  id text primary key,
  webhook_id text not null,
  tenant_id text not null,
  type text not null,
  -- The body's `data.ids` and `data.status`; there is no more in it.
  ids json not null,
  event_status text not null,
  occurred_at timestamptz not null default now(),
  status text not null default 'pending' check (status in ('pending', 'succeeded', 'failed')),
  -- The worker that sends: written before an attempt, and cleared with its result. A worker that dies leaves it there.
  sending_by text,
  -- Counts attempts; a result names the one it belongs to.
  attempt_count integer not null default 0,
  -- The newest attempts, oldest first: `{ at, statusCode, ms, error }`.
  attempts jsonb not null default '[]',
  last_attempt_at timestamptz,
  -- It is retried for 72 hours from then on: the event, or the last time a person asked for a retry.
  trying_since timestamptz not null default now(),
  -- A pending one is not sent before this; null once it has ended.
  next_attempt_at timestamptz default now(),
  finished_at timestamptz
);
create index webhook_deliveries_newest on webhook_deliveries (webhook_id, occurred_at desc, id desc);
-- What a job sends next, and what recovery reads: never more rows than wait.
create index webhook_deliveries_due on webhook_deliveries (webhook_id, next_attempt_at, id)
  where status = 'pending' and sending_by is null;
create index webhook_deliveries_sending on webhook_deliveries (last_attempt_at) where sending_by is not null;
-- Those that are too old to be kept.
create index webhook_deliveries_ended on webhook_deliveries (finished_at) where finished_at is not null;
