-- Merchant billing (`/v1/merchant-connection`): the tenant's account at a billing provider, which customer an end user
-- is there, and the ledger of what is to be reported.

create table merchant_connections (
  id text primary key,
  tenant_id text not null references tenants (id),
  provider text not null check (provider in ('billing_a', 'billing_b')),
  environment text not null check (environment in ('sandbox', 'live')),
  status text not null default 'active' check (status in ('active', 'disconnected')),
  merchant_account_id text not null,
  -- Kept after the connection is replaced or deleted, because recorded events are delivered with it.
  sealed_credential bytea not null,
  key_fragment text not null,
  guard json not null,
  -- Rises with every change.
  config_version integer not null default 1,
  -- The provider could not be reached just now: nothing is sent to it before this.
  paused_until timestamptz,
  -- Set once it is replaced or deleted.
  retired_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index merchant_connections_current on merchant_connections (tenant_id) where retired_at is null;

create table merchant_bindings (
  connection_id text not null references merchant_connections (id),
  user_id text collate "C" not null,
  customer_id text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (connection_id, user_id)
);

-- The ledger: one row per turn and model that it used, written in the commit that ends the turn, before anything is sent.
create table merchant_events (
  id text primary key,
  tenant_id text not null,
  connection_id text not null,
  provider text not null,
  turn_id text not null,
  -- Counts the models of a turn from 0.
  place smallint not null default 0,
  user_id text not null,
  -- The binding at the time of recording or of the release; null while unmapped.
  customer_id text,
  agent_id text not null,
  -- Empty for stateless generation.
  session_id text not null,
  model text,
  model_provider text,
  input_tokens bigint not null check (input_tokens >= 0),
  output_tokens bigint not null check (output_tokens >= 0),
  turn_status text not null,
  started_at timestamptz not null,
  occurred_at timestamptz not null default now(),
  status text not null check (status in
    ('pending', 'accepted', 'failed', 'uncertain', 'unmapped', 'incomplete', 'discarded', 'expired')),
  -- The worker that sends: written before a send and cleared with its receipt. A worker that dies leaves it there.
  sending_by text,
  -- Counts sends; a receipt names the one it belongs to.
  attempt_count integer not null default 0,
  -- Counts how often the delivery was started: by the recording, a release, each retry.
  attempt_generation integer not null default 1,
  last_attempt_at timestamptz,
  -- The first send of this generation; automatic delivery has a day from then on.
  trying_since timestamptz,
  -- A pending event is not sent before this; null once automatic delivery gave up.
  next_attempt_at timestamptz default now(),
  last_error_code text,
  accepted_at timestamptz,
  workflow_issue text
);
-- One event per turn and model.
create unique index merchant_events_turn on merchant_events (turn_id, place);
create index merchant_events_newest on merchant_events (tenant_id, occurred_at desc, id desc);
-- The list by status, and the summary's counts and sums, for which the table itself is not read.
create index merchant_events_status on merchant_events (tenant_id, status, occurred_at desc, id desc)
  include (input_tokens, output_tokens, accepted_at);
-- What a delivery takes next, and what recovery reads: never more rows than are not delivered yet.
create index merchant_events_due on merchant_events (connection_id, next_attempt_at, id)
  where status = 'pending' and sending_by is null;
create index merchant_events_sending on merchant_events (last_attempt_at) where sending_by is not null;
