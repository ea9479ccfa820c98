-- What turns used (`GET /v1/usage`): a row per turn, and the sums that keep questions about it cheap.

-- One row per ended turn and model that it used, kept when its session or agent is deleted.
create table usage (
  turn_id text not null,
  -- Counts the models of a turn from 0. The turn and its duration are in the first row.
  place smallint not null default 0,
  tenant_id text not null,
  agent_id text not null,
  -- Empty for stateless generation.
  session_id text not null default '',
  user_id text not null default '',
  provider text,
  model text,
  input_tokens bigint not null check (input_tokens >= 0),
  output_tokens bigint not null check (output_tokens >= 0),
  -- Whether some of the tokens were estimated, because a provider did not say them.
  estimated boolean not null default false,
  duration_ms bigint not null,
  metadata json not null default '{}',
  -- The UTC day.
  day date not null,
  -- Which sums hold this turn: `usage_sums`, `usage_user_sums`, `usage_session_tokens`. A turn counts by its own row
  -- until a worker has added it to its sums (the job `usage.sum`, every few minutes). The markers change in the
  -- statement that adds, so that every response is of one moment and counts each turn once. One marker a table,
  -- because a worker of an earlier version goes on to set those that it knows.
  summed boolean not null default false,
  user_summed boolean not null default false,
  session_summed boolean not null default false,
  created_at timestamptz not null default now(),
  primary key (turn_id, place)
);
-- One index for each way to find what sessions used within a range: of a tenant, an agent, a user, one by one. Each holds
-- only rows that every sum has: so the end of a turn writes to the primary key and to `usage_unsummed`, 0.6 kB of WAL
-- less than to all six, and the job that sums, whose update makes a new entry in each index anyway, writes the others.
--
-- The one by session has the numbers, so that the table itself is not read: on two cores, 10,000,000 turns of one tenant
-- within 31 days take 4.0 s by session. By the others the table is read for the session's id. So they go without, and
-- equal keys share an entry: 7 MB for 1,000,000 turns of ten agents, where it was 104.
create index usage_days on usage (tenant_id, day) where summed and user_summed and session_summed;
create index usage_agents on usage (tenant_id, agent_id, day) where summed and user_summed and session_summed;
create index usage_sessions on usage (tenant_id, session_id, day) include (place, input_tokens, output_tokens, duration_ms)
  where summed and user_summed and session_summed;
create index usage_users on usage (tenant_id, user_id, day) where summed and user_summed and session_summed;
-- All other rows, which some sum lacks: those of the last minutes, few whatever the table's size. It serves whoever asks
-- for one of the markers, so that the end of a turn writes to one such index only. A question about one session, agent
-- or user reads all of these rows of its tenant: 13 ms for the 60,000 of five minutes at 200 turns a second.
create index usage_unsummed on usage (tenant_id, day) where not summed or not user_summed or not session_summed;

-- Sums by day, agent and model, so that asking for them does not cost more with every turn that was ever run: over
-- 1,000,000 turns within 31 days it took 350 to 2,000 ms, and takes 2 ms. The commit of a turn writes to no sum: the
-- commits of a tenant would wait for one another there.
create table usage_sums (
  tenant_id text not null,
  day date not null,
  agent_id text not null,
  -- Null, as the model, for turns that ended before they came to a model.
  provider text,
  model text,
  turns bigint not null,
  input_tokens bigint not null check (input_tokens >= 0),
  output_tokens bigint not null check (output_tokens >= 0),
  duration_ms bigint not null
);
create unique index usage_sums_key
  on usage_sums (tenant_id, day, agent_id, (coalesce(provider, '')), (coalesce(model, '')));

-- Sums by end user too. In a table of its own: over 1,000,000 turns of 10,000 users within 28 days it holds 286,000
-- rows where `usage_sums` holds 28, and by day they would take 140 to 200 ms instead of 1.
--
-- Agent, provider and model are in the key so that a user's usage can be asked for by each of them.
create table usage_user_sums (
  tenant_id text not null,
  day date not null,
  user_id text not null,
  agent_id text not null,
  provider text,
  model text,
  turns bigint not null,
  input_tokens bigint not null check (input_tokens >= 0),
  output_tokens bigint not null check (output_tokens >= 0),
  duration_ms bigint not null
);
create unique index usage_user_sums_key
  on usage_user_sums (tenant_id, day, user_id, agent_id, (coalesce(provider, '')), (coalesce(model, '')));

-- What each session ever used: the most that a range of days can have of it. The largest sessions of a range are
-- found among those that used most, and not by adding up every session: of 5,000,000 turns of 1,000,000 sessions
-- that took longer than a statement may.
create table usage_session_tokens (
  tenant_id text not null,
  session_id text not null,
  tokens bigint not null check (tokens >= 0),
  primary key (tenant_id, session_id)
);
create index usage_session_tokens_most on usage_session_tokens (tenant_id, tokens desc, session_id);
