-- Workspaces, and the files that they hold (`/v1/workspaces`).

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

-- Each content of any file gets a number that was never used before. A writer can tell by it that what it read is
-- still there.
create sequence workspace_file_revisions;

create table workspace_files (
  workspace_id text not null references workspaces (id),
  -- Below the root, without a leading slash. Compared byte by byte, so that the files of a folder lie together.
  path text collate "C" not null,
  content bytea not null,
  size integer not null,
  executable boolean not null default false,
  revision bigint not null default nextval('workspace_file_revisions'),
  -- The session whose tool call wrote the file last, which makes it that session's artifact; null after an upload.
  session_id text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, path)
);
-- The sums that hold a workspace to its limits, without reading the contents.
create index workspace_files_sizes on workspace_files (workspace_id) include (size);
create index workspace_files_artifacts on workspace_files (session_id) where session_id is not null;

-- Folders that hold nothing yet; all others exist because their files do.
create table workspace_folders (
  workspace_id text not null references workspaces (id),
  path text collate "C" not null,
  primary key (workspace_id, path)
);
