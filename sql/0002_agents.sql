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

create table mcp_connections (
  id text primary key,
  tenant_id text not null references tenants (id),
  name text not null,
  url text not null,
  auth_type text not null check (auth_type in ('none', 'bearer', 'oauth_client_credentials', 'oauth_authorization_code')),
  status text not null check (status in ('connected', 'needs_auth', 'error')),
  -- Bearer token, OAuth client and tokens as one sealed JSON text; null when there is nothing to keep.
  sealed_credentials bytea,
  credential_fragment text not null default '',
  -- Rises with every change of the credentials, so that a late writer is noticed.
  credential_version integer not null default 1,
  last_auth_error_code text,
  oauth_issuer text,
  oauth_resource text,
  token_expires_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
-- Names are unique in a tenant, and the list is sorted by them.
create unique index mcp_connections_name on mcp_connections (tenant_id, name);

create table mcp_attachments (
  agent_id text not null references agents (id) on delete cascade,
  -- No cascade: a connection that is attached cannot be deleted.
  mcp_connection_id text not null constraint mcp_attachments_connection_fk references mcp_connections (id),
  forward_user_id boolean not null default false,
  forwarded_metadata_keys text[] not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (agent_id, mcp_connection_id)
);
-- "Which agents are attached to this connection?"
create index mcp_attachments_connection on mcp_attachments (mcp_connection_id);

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
