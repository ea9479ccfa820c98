-- Sessions, their transcripts and the summaries of long ones. No foreign keys here and in `011_turns.sql`: these
-- tables are written most, and every statement that writes to them checks for itself what must hold.

create table sessions (
  id text primary key,
  tenant_id text not null,
  agent_id text not null,
  -- Null follows the agent's current version.
  pinned_version integer,
  user_id text not null default '',
  metadata json not null default '{}',
  created_at timestamptz not null default now(),
  -- Form A shows a session only after its first turn succeeded.
  visible boolean not null,
  message_count integer not null default 0,
  last_message_preview text not null default '',
  -- The list that the tool `write_todos` wrote last.
  todos json,
  -- How many turns wait in its line (status `enqueued`). Changed only under the lock on this row, so it is exact.
  line integer not null default 0 check (line >= 0),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
) with (
  -- Room for what a session's turns change, as in `turns`.
  fillfactor = 70
);
create index sessions_agent on sessions (tenant_id, agent_id, updated_at, id)
  where visible and deleted_at is null;
create index sessions_agent_user on sessions (tenant_id, agent_id, user_id, updated_at, id)
  where visible and deleted_at is null;
create index sessions_latest on sessions (tenant_id, updated_at, id)
  where visible and deleted_at is null and message_count > 0;
create index sessions_latest_user on sessions (tenant_id, user_id, updated_at, id)
  where visible and deleted_at is null and message_count > 0;
-- The sessions with a line: what recovery looks at.
create index sessions_line on sessions (id) where line > 0;
-- "Which sessions are pinned to a version of this agent?" (earlier use of a provider), and "Which sessions did this
-- deleted agent leave?", the hidden and deleted ones too (the job `agent.purge`).
create index sessions_pinned on sessions (agent_id, pinned_version);

-- The transcript.
create table messages (
  session_id text not null,
  -- Rises within a session and is never used again, so that cursors (`after`) stay right after a regeneration.
  seq bigint not null,
  id text not null,
  role text not null,
  turn_id text not null,
  -- The whole UI message, as it came.
  content json not null,
  -- Its size, so that a turn can tell how much of a long transcript it may read without reading it.
  bytes integer not null generated always as (octet_length(content::text)) stored,
  created_at timestamptz not null default now(),
  primary key (session_id, seq)
);
create index messages_id on messages (session_id, id);

-- A summary of the older part of a long transcript (compaction). The transcript itself stays whole.
create table session_summaries (
  session_id text primary key,
  -- The `seq` of the last message that the summary stands for.
  upto_seq bigint not null,
  text text not null,
  created_at timestamptz not null default now()
);
