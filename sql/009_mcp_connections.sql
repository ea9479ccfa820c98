-- MCP connections, the agents that are attached to them, and sign-ins that are not finished yet.

create table mcp_connections (
  id text primary key,
  tenant_id text not null references tenants (id),
  -- Lists are sorted by it, in the order of code points whatever the database's language.
  name text collate "C" not null,
  url text not null,
  auth_type text not null
    check (auth_type in ('none', 'bearer', 'oauth_client_credentials', 'oauth_authorization_code')),
  status text not null check (status in ('connected', 'needs_auth', 'error')),
  -- Bearer token, OAuth client and its authorization server as one sealed JSON text; null when there is nothing to
  -- keep.
  sealed_credentials bytea,
  credential_fragment text not null default '',
  -- Rises with every change of URL or credentials, so that a writer that comes too late is noticed.
  credential_version integer not null default 1,
  -- OAuth tokens as one sealed JSON text. A renewal raises the token version and leaves the credential version as it
  -- is.
  sealed_tokens bytea,
  token_version integer not null default 0,
  token_expires_at timestamptz,
  -- Until then one process renews the tokens, and no other may.
  renewing_until timestamptz,
  last_auth_error_code text,
  -- The revision of the protocol that the server spoke when it was last connected to: a date, or null.
  protocol_version text,
  -- The scopes that the server asked for when it refused the token for having too few; the next sign-in asks for them.
  missing_scope text,
  oauth_issuer text,
  oauth_resource text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
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

-- A sign-in at an authorization server: first the row of a link that was handed out, then the row of a flow that
-- waits for its callback. Each row is deleted by the one request that uses it.
create table mcp_sign_ins (
  -- SHA-256 of the link's token, or of the flow's `state`.
  digest bytea primary key,
  mcp_connection_id text not null references mcp_connections (id) on delete cascade,
  credential_version integer not null,
  -- Who asked for the link: `{ type, id }`. The page of a sign-in has no credential.
  started_by json not null,
  -- Null for a link; for a flow its code verifier, client and server as one sealed JSON text.
  sealed_flow bytea,
  expires_at timestamptz not null
);
create index mcp_sign_ins_expires on mcp_sign_ins (expires_at);
create index mcp_sign_ins_connection on mcp_sign_ins (mcp_connection_id);
