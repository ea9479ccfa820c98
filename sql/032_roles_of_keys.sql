-- Who may do what: a key has a role, and may be limited to some agents (docs/roles.md). What stood before is an admin of everything.

alter table api_keys
  add column role text not null default 'admin' check (role in ('reader', 'approver', 'runner', 'editor', 'admin')),
  -- Null: all agents of the tenant.
  add column agent_ids text[] check (cardinality(agent_ids) > 0),
  -- To the minute; written once a minute at most, beside the requests.
  add column last_used_at timestamptz;

-- API keys that it may have at once.
alter table tenants add column api_keys_max integer not null default 5 check (api_keys_max between 1 and 1000);

-- Null: it is told of all agents. Else it was made by a key that is limited to them.
alter table webhooks add column agent_ids text[] check (cardinality(agent_ids) > 0);

-- The agent that an event is about, for who sees only some; null where it is about none, or is older than this column.
alter table audit_events add column agent_id text;
create index audit_events_agent on audit_events (tenant_id, agent_id, at desc, id desc) where agent_id is not null;
