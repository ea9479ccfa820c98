-- Providers, workspaces, agents and their versions.

create table providers (
  id text primary key,
  tenant_id text not null references tenants (id),
  name text not null,
  provider_type text not null,
  base_url text,
  sealed_key bytea not null,
  key_fragment text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index providers_name on providers (tenant_id, name);
create index providers_updated on providers (tenant_id, updated_at desc, id desc);

create table workspaces (
  id text primary key,
  tenant_id text not null references tenants (id),
  name text not null,
  user_id text not null default '',
  metadata json not null default '{}',
  status text not null default 'ready' check (status in ('ready', 'deleting')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index workspaces_created on workspaces (tenant_id, created_at desc, id desc);

create table agents (
  id text primary key,
  tenant_id text not null references tenants (id),
  name text not null,
  user_id text not null default '',
  status text not null default 'active' check (status in ('active', 'disabled')),
  -- The platform's own agent of this tenant (`tenant create --admin-agent`).
  managed boolean not null default false,
  workspace_id text references workspaces (id),
  version integer not null default 1,
  -- The versioned configuration of the current version, the same as in its `agent_versions` row.
  -- `json`, because metadata reads back with its fields in the order they came in.
  config json not null,
  provider_id text generated always as (config ->> 'providerId') stored,
  avatar bytea,
  avatar_media_type text,
  avatar_id text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index agents_name on agents (tenant_id, name);
create unique index agents_managed on agents (tenant_id) where managed;
create index agents_updated on agents (tenant_id, updated_at desc, id desc);
-- "Which agents use this provider or workspace?"
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

-- Skills of the library (`/v1/skills`); form A's agents name them by id.
create table library_skills (
  id text primary key,
  -- Null for a platform skill, which every tenant may read.
  tenant_id text references tenants (id),
  name text not null,
  description text not null default '',
  user_id text not null default '',
  metadata json not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index library_skills_tenant on library_skills (tenant_id, updated_at desc, id desc);
