-- What agents remember.

create table memories (
  id text primary key,
  tenant_id text not null,
  -- At most 500 an agent, so that they can be deleted with it in one statement.
  agent_id text not null references agents (id) on delete cascade,
  user_id text not null default '',
  text text not null,
  -- The words of the text for full-text search. Written beside the text and not generated from it, because
  -- in a database of locale C Postgres folds the case of ASCII letters only.
  words tsvector not null,
  -- At the cap, the memory that was not used for longest is deleted first.
  last_accessed_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index memories_created on memories (agent_id, created_at desc, id desc);
create index memories_accessed on memories (agent_id, last_accessed_at, id);
create index memories_words on memories using gin (words);
