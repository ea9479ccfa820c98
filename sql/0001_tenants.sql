-- Tenants, their credentials and their limits.

create table tenants (
  id text primary key,
  name text not null,
  form text not null default 'b' check (form in ('a', 'b')),
  subscription text not null default 'active' check (subscription in ('active', 'inactive')),
  -- Tokens left; null means that usage is not limited.
  usage_credit bigint,
  quota_turns_per_day integer check (quota_turns_per_day >= 0),
  -- Requests a second over all keys and processes.
  rate_limit integer check (rate_limit >= 0),
  monetization boolean not null default false,
  -- Set by `tenant delete`; the row goes once its last turn has ended.
  deleting_at timestamptz,
  deleted_at timestamptz,
  created_at timestamptz not null default now()
);

create table api_keys (
  id text primary key,
  tenant_id text not null references tenants (id),
  name text not null,
  digest bytea not null,
  fragment text not null,
  expires_at timestamptz,
  created_at timestamptz not null default now()
);
-- Authentication: one look-up a request.
create unique index api_keys_digest on api_keys (digest);
create index api_keys_tenant on api_keys (tenant_id, created_at);

-- Turns accepted in a UTC day, kept only for tenants that have a quota.
create table turn_quota_days (
  tenant_id text not null,
  day date not null,
  turns integer not null,
  primary key (tenant_id, day)
);

create table idempotency_keys (
  tenant_id text not null,
  key text not null,
  -- SHA-256 of method, path, form and body.
  request_digest bytea not null,
  -- The turn a repeat joins, or the answer a repeat repeats.
  turn_id text,
  status integer,
  headers json,
  -- Sealed, because an answer may hold a token that is shown only once.
  sealed_body bytea,
  created_at timestamptz not null default now(),
  primary key (tenant_id, key)
);
-- The hourly sweep of keys older than a day.
create index idempotency_keys_created on idempotency_keys (created_at);

-- One row per worker process; `beat_at` is renewed every second on its lock connection.
create table workers (
  id text primary key,
  application_name text not null,
  -- The names under which the queue knows this process.
  queue_worker_ids text[] not null default '{}',
  started_at timestamptz not null default now(),
  beat_at timestamptz not null default now()
);
