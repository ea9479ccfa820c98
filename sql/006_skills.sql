-- Skills: folders of files, of one agent (`/v1/agents/:agentId/skills`) or of the library (`/v1/skills`).

create table agent_skills (
  id text primary key,
  tenant_id text not null,
  -- No foreign key: the skills of a deleted agent may hold a gigabyte and go with the job `agent.purge`.
  -- Whoever writes a skill locks the agent's row.
  agent_id text not null,
  name text not null,
  description text not null,
  metadata json not null default '{}',
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index agent_skills_name on agent_skills (agent_id, name);
create index agent_skills_created on agent_skills (agent_id, created_at desc, id desc);

-- Agents of form A name these by id.
create table library_skills (
  id text primary key,
  -- Null for a platform skill, which every tenant may read.
  tenant_id text references tenants (id),
  name text not null,
  description text not null default '',
  user_id text not null default '',
  metadata json not null default '{}',
  -- Every update is a version of its own; this one is in use.
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index library_skills_tenant on library_skills (tenant_id, updated_at desc, id desc);
-- An operator publishes a platform skill again under its name.
create unique index library_skills_platform on library_skills (name) where tenant_id is null;

create table library_skill_versions (
  skill_id text not null,
  version integer not null,
  filename text not null,
  -- The whole frontmatter of SKILL.md.
  meta json not null,
  created_at timestamptz not null,
  primary key (skill_id, version)
);

-- Files of both kinds of skills; those of an agent's skill have version 1.
create table skill_files (
  skill_id text not null,
  version integer not null,
  path text collate "C" not null,
  content bytea not null,
  primary key (skill_id, version, path)
);
-- Not compressed: files are read far more often than it would be worth. (Before Postgres 16, `create table` cannot say
-- this.)
alter table skill_files alter column content set storage external;
