-- Chat apps: connections, their threads, what is received and what is posted.

-- One row per bot installation. An installation belongs to whoever connected it first, over all tenants.
create table chat_connections (
  id text primary key,
  tenant_id text not null references tenants (id),
  -- No foreign key: the connections of a deleted agent are deleted by the job `agent.purge`, or by `chat.purge`
  -- where the platform has to forget a webhook first.
  agent_id text not null,
  name text not null,
  platform text not null check (platform in ('chat_a', 'chat_b')),
  enabled boolean not null,
  -- The allow-list and what else the platform takes.
  configuration json not null,
  -- The installation as the platform knows it.
  installation text not null,
  bot_id text,
  bot_user_id text,
  bot_name text,
  team_id text,
  app_id text,
  -- Token and secrets as one sealed JSON text.
  sealed_credentials bytea not null,
  credential_fragment text not null,
  credential_version integer not null default 1,
  health json not null,
  -- The first verified request of the platform: proof that the webhook and its secret are right.
  webhook_seen_at timestamptz,
  -- Deleted, and its webhook taken back; the job `chat.purge` erases what it holds, and at last this row.
  deleted_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index chat_connections_installation on chat_connections (platform, installation) where deleted_at is null;
create index chat_connections_tenant on chat_connections (tenant_id, created_at, id);
create index chat_connections_agent on chat_connections (agent_id);

-- A conversation on the platform, and the session that holds it here.
create table chat_threads (
  id text primary key,
  connection_id text not null references chat_connections (id) on delete cascade,
  -- Slack: `channel` or `channel:thread`. Telegram: `chat` or `chat:topic`, in business mode behind
  -- `business connection:`.
  key text not null,
  -- Where to post.
  address json not null,
  -- Null until the first turn is accepted, and again when the session was deleted.
  session_id text,
  created_at timestamptz not null default now()
);
create unique index chat_threads_key on chat_threads (connection_id, key);
-- "Does this ended turn's session belong to a chat?"
create unique index chat_threads_session on chat_threads (session_id) where session_id is not null;

-- Events and messages that were received, so that repeats run nothing. Written by verified requests only.
create table chat_events (
  connection_id text not null references chat_connections (id) on delete cascade,
  key text not null,
  created_at timestamptz not null default now(),
  primary key (connection_id, key)
);
create index chat_events_created on chat_events (created_at);

-- Messages that wait for their session's turn.
create table chat_inbox (
  id bigint generated always as identity primary key,
  thread_id text not null references chat_threads (id) on delete cascade,
  -- The platform's order within the thread.
  place bigint not null,
  -- The user to whom the session belongs, when this message makes it.
  user_id text not null,
  -- Who wrote it, by the platform's id: of a channel's people this one may decide what the turn asks.
  author text,
  text text not null,
  created_at timestamptz not null default now()
);
create index chat_inbox_thread on chat_inbox (thread_id, place, id);
create index chat_inbox_created on chat_inbox (created_at);

-- The ledger of what is posted: a row before anything is sent, a receipt after each message the platform accepted.
create table chat_deliveries (
  id text primary key,
  tenant_id text not null,
  connection_id text not null references chat_connections (id) on delete cascade,
  thread_id text not null references chat_threads (id) on delete cascade,
  kind text not null check (kind in ('reply', 'approval_card')),
  status text not null default 'pending' check (status in ('pending', 'confirmed', 'failed', 'ambiguous')),
  attempt integer not null default 0,
  credential_version integer not null,
  representation text not null default 'native' check (representation in ('native', 'text')),
  diagnostic text,
  receipts json not null default '[]',
  session_id text,
  message_id text,
  approval_id text,
  -- A reply's messages, as Markdown; null until they are made from the transcript, just before the first sending.
  parts json,
  -- The reply posts what the first so many parts of the message hold, without what earlier replies posted.
  upto_part integer,
  -- Who sends the next message just now, and until when that can take.
  claim text,
  claim_worker text,
  claim_until timestamptz,
  -- Set when the platform asked to wait, or could not be reached.
  not_before timestamptz,
  tries integer not null default 0,
  attempt_since timestamptz not null default now(),
  -- A card: the press that is still to be acknowledged, and when its outcome was shown.
  press_id text,
  -- Who pressed it and may not; told so with the acknowledgement.
  refused_person text,
  settled_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index chat_deliveries_connection on chat_deliveries (connection_id, created_at desc, id desc);
-- The deletion of a thread looks for its deliveries.
create index chat_deliveries_thread on chat_deliveries (thread_id);
create index chat_deliveries_attention on chat_deliveries (tenant_id, created_at desc, id desc)
  where status in ('failed', 'ambiguous');
create index chat_deliveries_pending on chat_deliveries (thread_id, created_at) where status = 'pending';
create index chat_deliveries_cards on chat_deliveries (thread_id) where approval_id is not null and settled_at is null;
create index chat_deliveries_approval on chat_deliveries (approval_id) where approval_id is not null;
-- "Which parts of this message were posted already?"
create index chat_deliveries_message on chat_deliveries (thread_id, message_id) where upto_part is not null;
-- "What was posted of this deleted session?"
create index chat_deliveries_session on chat_deliveries (session_id) where session_id is not null;
-- What recovery scans: never more rows than there are unsent deliveries.
create index chat_deliveries_unsent on chat_deliveries (created_at) where status = 'pending';
