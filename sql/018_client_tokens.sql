-- Client tokens: credentials of pages without a back end, each for one end user of one agent.

create table client_tokens (
  id text primary key,
  tenant_id text not null references tenants (id),
  -- The key that made it, without which it is not valid; null where a dashboard user made it.
  key_id text,
  -- SHA-256 of the token. The token itself is shown once and not kept.
  digest bytea not null,
  agent_id text not null,
  user_id text not null,
  -- Null: every session of this user with the agent.
  session_id text,
  -- The origins of pages that may use it from a browser.
  origins text[] not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default now()
);
-- Authentication: one read of this index a request.
create unique index client_tokens_digest on client_tokens (digest);
-- "How many has this tenant?"
create index client_tokens_live on client_tokens (tenant_id, expires_at) include (key_id);
-- What goes with its agent, and the hourly deletion of those that have expired.
create index client_tokens_agent on client_tokens (agent_id);
create index client_tokens_expired on client_tokens (expires_at);

-- The origins of an agent's client tokens: a browser asks for leave (the preflight) without the token. It holds a while
-- longer than the tokens, so that a page can read that its token has expired.
create table client_origins (
  origin text not null,
  agent_id text not null,
  tenant_id text not null,
  expires_at timestamptz not null,
  primary key (origin, agent_id)
);
-- "How many has this tenant?", what goes with its agent, and the hourly deletion of those that have expired.
create index client_origins_tenant on client_origins (tenant_id);
create index client_origins_agent on client_origins (agent_id);
create index client_origins_expired on client_origins (expires_at);
