-- Turns: one row per accepted turn, whoever asked for it. No foreign keys, as in
-- `010_sessions.sql`. A turn's chunks are in the relay, in its turn log; here is where to find them.

create table turns (
  -- What does not change once the turn is accepted comes first, so that a later version of the row on the same page has
  -- a long beginning in common with the one before, which the WAL leaves out.
  id text primary key,
  tenant_id text not null,
  agent_id text not null,
  -- Null for stateless generation.
  session_id text,
  -- Where it came from: a session over HTTP, a stateless generation, a task's run, a chat app.
  kind text not null check (kind in ('session', 'generate', 'task', 'chat')),
  -- The configuration that this turn runs on; whether the session is pinned does not change by it.
  agent_version integer not null,
  trigger text not null default 'submit-message',
  -- Known from acceptance on, so that every follower can be told the id in `start`.
  assistant_message_id text not null,
  first_of_hidden_session boolean not null default false,
  user_id text not null default '',
  -- The user's UI message (null for a regeneration), or all messages of a stateless generation.
  input json,
  metadata json not null default '{}',
  -- The JSON Schema that the answer has to fit (`responseFormat`).
  response_format json,
  -- What the request adds to the agent for this turn (`CallerOptions` in `src/sessions/state/caller-options.ts`).
  caller_options json,
  request_id text,
  -- The W3C trace context of the request that asked for the turn; null when traces are off. In the row and not in
  -- the job, which is made anew when a turn is run again or goes on after a decision.
  traceparent text,
  accepted_at timestamptz not null default now(),
  -- A regeneration keeps the messages up to this `seq`.
  keep_seq bigint,
  -- Its place in the line of its session, while it is `enqueued` there; they are not without gaps.
  line_place integer,
  -- The message that an enqueued regeneration was asked for; null is the last answer. What it keeps is found when it starts.
  regenerates text,
  -- When it left the line of its session; null for a turn that was never in it.
  queued_at timestamptz,
  -- The moves: `src/sessions/state/turn.ts`.
  status text not null default 'queued'
    check (status in ('enqueued', 'queued', 'running', 'waiting', 'succeeded', 'failed', 'canceled')),
  -- Counts claims. A commit names it and writes nothing when it has risen since.
  attempt integer not null default 0,
  -- How many of the claims ended with the death of their worker, in the step under way.
  crashes integer not null default 0,
  -- The claims before the step under way: how often a turn may be run again is counted anew for each of its steps.
  attempts_before integer not null default 0,
  worker_id text,
  -- The continuation that it runs now, or waits with; null until it first stops to ask.
  continuation_id text,
  -- The claim whose turn log holds the chunks up to the first stop or the end.
  log_attempt integer,
  cancel_requested_at timestamptz,
  -- What whoever asked for that wants to keep of the turn: nothing, or what it said so far with the question.
  cancel_keep text check (cancel_keep in ('nothing', 'partial')),
  -- When a queued turn was parked: it waits without a job until a worker has a slot for its tenant.
  parked_at timestamptz,
  -- Set soon after the first chunk that a reader may have seen, and before any tool runs.
  shown_at timestamptz,
  -- Steps after which there is a checkpoint. A turn with any goes on after the last one when its worker is lost.
  steps_done integer not null default 0,
  -- Events of the turn log that lie before the step under way.
  step_events integer not null default 0,
  -- Events that lay before the last time tools of the step under way began; null: none of them can have.
  tool_events integer,
  -- Relay events of the attempt that ended the turn, so that a follower can tell a whole turn log from one that was
  -- cut off.
  relay_events integer,
  -- The chunk that ends that turn log, for a follower whose turn log broke off just before it.
  last_chunk json,
  error json,
  -- The answer of a stateless generation; of a regeneration, what it had answered when it stopped to ask.
  answer json,
  -- Summed over the turn and its continuations.
  input_tokens bigint not null default 0 check (input_tokens >= 0),
  output_tokens bigint not null default 0 check (output_tokens >= 0),
  model_calls integer not null default 0,
  -- What of it other models than the agent's own used, as an array (`ModelUsage` in `src/sessions/state/turn-end.ts`);
  -- null where none was called.
  model_usage jsonb,
  -- Those before the claim that runs now, or before its step under way when it has completed one.
  calls_before integer not null default 0,
  -- Whether some of the tokens were estimated, because a provider did not say them.
  usage_estimated boolean not null default false,
  run_ms bigint not null default 0,
  -- The steps that are known: times and names, no content (`src/sessions/state/turn-step.ts`).
  steps json,
  -- Its first claim.
  started_at timestamptz,
  claimed_at timestamptz,
  -- When the first text of its answer came.
  first_text_at timestamptz,
  finished_at timestamptz
) with (
  -- Each turn's row is written three times. On the page that it is on, the second and the third time cost the WAL what
  -- has changed, and elsewhere the whole row.
  fillfactor = 50
);
-- The turns that do not move any more, for lists by a filter. A turn makes its entries once, with its end: what moves is
-- found by `turns_tenant_active`.
create index turns_of_kind on turns (tenant_id, kind, status, accepted_at)
  where status in ('waiting', 'succeeded', 'failed', 'canceled');
create index turns_of_agent on turns (agent_id, kind, status, accepted_at)
  where status in ('waiting', 'succeeded', 'failed', 'canceled');
create index turns_of_user on turns (tenant_id, user_id, kind, status, accepted_at)
  where status in ('waiting', 'succeeded', 'failed', 'canceled');
create index turns_session on turns (session_id, accepted_at desc) where session_id is not null;
create index turns_accepted on turns (tenant_id, accepted_at);
-- "Which stateless generations did this deleted agent leave?", and which are older than a tenant keeps them.
create index turns_stateless on turns (agent_id, accepted_at) where session_id is null;
-- Stateless generations whose answers nobody can ask for any more: never more rows than a day has.
create index turns_generated on turns (finished_at) where session_id is null and input is not null;
-- The indexes of few rows come last: where Postgres does not know yet how many rows a table has, all indexes cost the
-- same, and it takes the one that was made last of those that a statement can use.
-- This index is what makes a session busy: a second active turn of a session cannot be inserted.
create unique index turns_one_active on turns (session_id) where status in ('queued', 'running', 'waiting');
-- What the recovery of lost turns reads: never more rows than there are unfinished turns.
create index turns_unfinished on turns (status, accepted_at) where status in ('queued', 'running');
-- What the recovery ends because no worker has it: without this it would read every turn that waits for a person.
create index turns_to_cancel on turns (cancel_requested_at)
  where status in ('enqueued', 'queued', 'waiting') and cancel_requested_at is not null;
-- The line of a session, in its order.
create index turns_line on turns (session_id, line_place) where status = 'enqueued';
-- Also counts what a tenant has queued and running, for its limits, and has an agent's unfinished turns among its tenant's:
-- with an index of their own, each turn would write to that twice for an agent that is deleted once.
create index turns_tenant_active on turns (tenant_id, status, accepted_at)
  where status in ('enqueued', 'queued', 'running', 'waiting');
-- The parked turns of each tenant in their order. A turn that finds a slot at once is never in it.
create index turns_parked on turns (tenant_id, accepted_at, id)
  where status = 'queued' and parked_at is not null and cancel_requested_at is null;

-- What a turn has said and done in its completed steps, while it is not over: the chunks of each, so that nothing that
-- is written grows with the turn. Removed by the statement that ends it.
create table turn_checkpoints (
  turn_id text not null,
  -- Counts from 0.
  step integer not null,
  chunks json not null,
  primary key (turn_id, step)
);
