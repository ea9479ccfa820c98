-- Who is signed in to the console (docs/console.md), and the links that sign in once.

-- A session is known by the digest of its cookie. The credential that it was made with is encrypted with a key that only
-- the cookie holds, so neither this table nor a process can open it without its browser.
create table console_sessions (
  digest bytea primary key,
  -- Null: an operator's.
  tenant_id text,
  locked_credential bytea not null,
  created_at timestamptz not null default now(),
  -- Renewed at most twice a minute.
  used_at timestamptz not null default now(),
  expires_at timestamptz not null
);
-- The newest of a tenant are kept.
create index console_sessions_tenant on console_sessions (tenant_id, created_at);
-- The hourly deletion of those that are over.
create index console_sessions_expired on console_sessions (expires_at);

-- A link holds a code; the row its digest and the credential that it stands for, encrypted with a key that only the
-- code holds. Whoever deletes the row is signed in.
create table console_links (
  digest bytea primary key,
  tenant_id text not null,
  locked_credential bytea not null,
  expires_at timestamptz not null
);
