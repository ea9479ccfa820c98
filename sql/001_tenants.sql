-- Tenants, their API keys and their limits, and the requests that may be repeated.

create table tenants (
  id text primary key,
  name text not null,
  form text not null default 'b' check (form in ('a', 'b')),
  subscription text not null default 'active' check (subscription in ('active', 'inactive')),
  -- Tokens left; null means that usage is not limited. Below 0 when the last turns used more than was left.
  usage_credit bigint,
  -- Null means that turns are not counted.
  quota_turns_per_day integer check (quota_turns_per_day >= 0),
  -- Requests a second over all keys and processes; null means no limit.
  rate_limit integer check (rate_limit >= 0),
  -- Turns that run at once, over all workers; null means no limit.
  running_turns integer check (running_turns >= 0),
  -- Turns that are accepted and do not run yet; null means no limit.
  queued_turns integer default 10000 check (queued_turns >= 0),
  -- Its share of a worker's slots beside other tenants.
  weight integer not null default 1 check (weight between 1 and 100),
  monetization boolean not null default false,
  -- A turn that waits for a person goes on without one after this long.
  pause_hours integer not null default 168 check (pause_hours between 1 and 8760),
  -- Sessions that nobody used for so many days are deleted, and what else is as old; null keeps them.
  retention_days integer check (retention_days between 1 and 36500),
  -- Set by the command `tenant delete`; `deleted_at` is set once the last turn has ended and everything is gone.
  deleting_at timestamptz,
  deleted_at timestamptz,
  created_at timestamptz not null default now()
);

create table api_keys (
  id text primary key,
  tenant_id text not null references tenants (id),
  name text not null,
  -- SHA-256 of the key. The key itself is shown once and not kept.
  digest bytea not null,
  -- What lists show of the key.
  fragment text not null,
  expires_at timestamptz,
  created_at timestamptz not null default now()
);
-- Authentication: one read of this index a request.
create unique index api_keys_digest on api_keys (digest);
create index api_keys_tenant on api_keys (tenant_id, created_at, id);

-- Turns accepted in a UTC day, kept only for tenants that have a quota.
create table turn_quota_days (
  tenant_id text not null,
  day date not null,
  turns integer not null,
  primary key (tenant_id, day)
);

-- One row per `Idempotency-Key` of a tenant.
create table idempotency_keys (
  tenant_id text not null,
  key text not null,
  -- SHA-256 of method, path, form and body.
  request_digest bytea not null,
  -- A repeat follows this turn, or gets the stored response.
  turn_id text,
  status integer,
  headers json,
  -- Sealed, because a response may hold a token that is shown only once.
  sealed_body bytea,
  -- The request that is under way, and until when: then its process is taken for dead, and a repeat may run.
  owner text,
  leased_until timestamptz,
  -- What a request has written before it ended without a response; its repeat goes on with that.
  made_id text,
  -- Whose words the stored response holds. It is erased with any of them; the key stays, without headers and body.
  -- Of a turn: the session that goes, with the key, when the turn fails as its first.
  resource_ids text[],
  created_at timestamptz not null default now(),
  primary key (tenant_id, key)
);
-- "Which responses tell of this deleted resource?"
create index idempotency_keys_resources on idempotency_keys using gin (resource_ids) where resource_ids is not null;
-- The hourly deletion of keys older than a day.
create index idempotency_keys_created on idempotency_keys (created_at);
