-- Agents and their versions.

create table agents (
  id text primary key,
  tenant_id text not null references tenants (id),
  name text not null,
  user_id text not null default '',
  status text not null default 'active' check (status in ('active', 'disabled')),
  -- The platform's own agent of this tenant (the command `tenant create --admin-agent`).
  managed boolean not null default false,
  workspace_id text references workspaces (id),
  version integer not null default 1,
  -- The configuration of the current version, the same as in its row of `agent_versions`.
  -- `json` and not `jsonb`, because metadata is returned with its fields in the order in which they came.
  config json not null,
  provider_id text generated always as (config ->> 'providerId') stored,
  avatar bytea,
  avatar_media_type text,
  -- A new one with each picture.
  avatar_id text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index agents_name on agents (tenant_id, name);
-- At most one managed agent a tenant.
create unique index agents_managed on agents (tenant_id) where managed;
create index agents_updated on agents (tenant_id, updated_at desc, id desc);
-- The list of one user's agents.
create index agents_user on agents (tenant_id, user_id, updated_at desc, id desc);
-- "Which agents use this provider, or this workspace?"
create index agents_provider on agents (provider_id) where provider_id is not null;
create index agents_workspace on agents (workspace_id) where workspace_id is not null;

create table agent_versions (
  agent_id text not null references agents (id) on delete cascade,
  version integer not null,
  tenant_id text not null,
  config json not null,
  provider_id text generated always as (config ->> 'providerId') stored,
  created_at timestamptz not null default now(),
  primary key (agent_id, version)
);
create index agent_versions_provider on agent_versions (provider_id) where provider_id is not null;
