-- Approvals of tool calls, calls of client tools, and the continuations that resume a turn after them
-- (`/v1/agents/:agentId/sessions/:sessionId/tool-approvals`).

-- A turn that stops to ask makes a continuation. It waits until the last approval of that message is decided and the
-- last call of a client tool has its result, then its turn is queued again.
create table continuations (
  id text primary key,
  tenant_id text not null,
  session_id text not null,
  turn_id text not null,
  status text not null default 'waiting' check (status in ('waiting', 'queued', 'running', 'succeeded', 'failed')),
  -- The claim whose turn log holds its chunks.
  log_attempt integer,
  -- As in `turns`.
  relay_events integer,
  last_chunk json,
  error json,
  -- As in `turns`, of the request that settled the pause; null: those of the turn.
  caller_options json,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz
);
create index continuations_session on continuations (session_id, created_at);
-- "Which turn logs does this turn have?", when it is erased.
create index continuations_turn on continuations (turn_id);

create table approvals (
  id text primary key,
  tenant_id text not null,
  session_id text not null,
  turn_id text not null,
  continuation_id text not null,
  tool text not null,
  tool_call_id text not null,
  input json,
  assistant_message_id text not null,
  status text not null default 'pending' check (status in ('pending', 'approved', 'denied')),
  reason text,
  created_at timestamptz not null default now(),
  decided_at timestamptz,
  -- Who decided: `{ type, id }`.
  decided_by json,
  -- What the chat platform calls that person, for the card; null for anybody else.
  decided_by_name text
);
create index approvals_session on approvals (session_id, created_at, id);
create index approvals_continuation on approvals (continuation_id);
-- The expiry of pauses: a probe a tenant, and what has expired.
create index approvals_pending on approvals (tenant_id, created_at) where status = 'pending';

-- Calls of tools that the caller runs (`/v1/agents/:agentId/sessions/:sessionId/tool-calls`). Their results are in the
-- answer only.
create table client_calls (
  id bigint primary key generated always as identity,
  tenant_id text not null,
  session_id text not null,
  turn_id text not null,
  continuation_id text not null,
  tool text not null,
  -- The provider's, which may come again in a later step; the newest is meant.
  tool_call_id text not null,
  input json,
  assistant_message_id text not null,
  status text not null default 'pending' check (status in ('pending', 'done', 'failed')),
  created_at timestamptz not null default now(),
  settled_at timestamptz
);
create index client_calls_session on client_calls (session_id, id);
create index client_calls_continuation on client_calls (continuation_id);
-- As `approvals_pending`.
create index client_calls_pending on client_calls (tenant_id, created_at) where status = 'pending';
