-- Who did what: one row per operation that changed something (`GET /v1/audit-events`). It names fields and never holds a
-- value, so it stays when what it is about is deleted. Written in the transaction of the change; deleted after 400 days.

create table audit_events (
  id text primary key,
  -- Null: an operator did it, and it is no tenant's.
  tenant_id text,
  at timestamptz not null default now(),
  actor_type text not null check (actor_type in ('api_key', 'dashboard_user', 'operator', 'chat_user', 'system')),
  actor_id text,
  -- Noun and verb; the noun is the resource's type.
  action text not null,
  resource_id text,
  request_id text,
  -- Names of fields.
  changes text[] not null
);
-- One index for each filter of the list, in its order.
create index audit_events_newest on audit_events (tenant_id, at desc, id desc);
create index audit_events_action on audit_events (tenant_id, action, at desc, id desc);
create index audit_events_actor on audit_events (tenant_id, actor_id, at desc, id desc);
create index audit_events_resource on audit_events (tenant_id, resource_id, at desc, id desc);
-- The hourly deletion of old ones.
create index audit_events_at on audit_events (at);
