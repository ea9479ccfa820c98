-- What workspaces hold, and what a session's tools keep with it.

-- A number that no content of any file ever had before, so that a writer can tell that what it read is still there.
create sequence workspace_file_revisions;

create table workspace_files (
  workspace_id text not null references workspaces (id),
  -- Below the root, without a leading slash. Compared byte by byte, so that what lies in one folder lies together.
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
-- The sums that hold a workspace to its limits, without a look at the contents.
create index workspace_files_sizes on workspace_files (workspace_id) include (size);
create index workspace_files_artifacts on workspace_files (session_id) where session_id is not null;

-- Folders that hold nothing yet; all others are there because their files are.
create table workspace_folders (
  workspace_id text not null references workspaces (id),
  path text collate "C" not null,
  primary key (workspace_id, path)
);

-- The list that the tool `write_todos` wrote last.
alter table sessions add column todos json;
