import { handOverToChat } from "../chat/hand-over.ts";
import type { ProviderType } from "../config.ts";
import { type AnySql, json, type Sql } from "../db.ts";
import { billEndedTurn } from "../merchant/record.ts";
import type { UiMessage } from "./schema.ts";

/**
 * The state machine of a turn: every move is a guarded update, and zero rows
 * means that somebody else moved the turn first. A turn that stops to ask a
 * person goes on as a *continuation*, with a log of its own.
 *
 *     queued → running → succeeded | failed | canceled
 *                 ↓ asks        ↑
 *              waiting → queued → running …
 *
 * Here are the claim and the end; `requeue.ts` has the way back, `logs.ts` what
 * followers see.
 */

export type TurnStatus = "queued" | "running" | "waiting" | "succeeded" | "failed" | "canceled";

/** The door a turn came through: a session over HTTP, a stateless generation, a task's run, a chat app. */
export type TurnKind = "session" | "generate" | "task" | "chat";

/** Why a turn failed, as its error chunk says it. */
export interface TurnError {
  readonly code: string;
  readonly message: string;
}

/** A claimed turn: what the worker needs to run it. */
export interface ClaimedTurn {
  readonly id: string;
  readonly tenantId: string;
  readonly agentId: string;
  readonly sessionId: string | null;
  readonly kind: TurnKind;
  /** The continuation this claim runs; null before the turn first stops to ask. */
  readonly continuationId: string | null;
  readonly attempt: number;
  readonly agentVersion: number;
  /** The user's message, or all messages of a stateless generation; null for a regeneration. */
  readonly input: UiMessage | readonly UiMessage[] | null;
  readonly keepSeq: number | null;
  readonly assistantMessageId: string;
  readonly userId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly requestId: string | null;
  /** Model calls of the turn before this claim. */
  readonly modelCalls: number;
  /** What a regeneration had answered when it stopped to ask. */
  readonly answer: UiMessage | null;
}

interface ClaimRow {
  locked: boolean;
  id: string | null;
  tenant_id: string;
  agent_id: string;
  session_id: string | null;
  kind: TurnKind;
  continuation_id: string | null;
  attempt: number;
  agent_version: number;
  input: UiMessage | UiMessage[] | null;
  keep_seq: number | null;
  assistant_message_id: string;
  user_id: string;
  metadata: Record<string, unknown>;
  request_id: string | null;
  model_calls: number;
  answer: UiMessage | null;
}

/** The log that holds a claim's chunks is named after the turn, or the continuation it runs. */
export function logIdOf(turn: Pick<ClaimedTurn, "id" | "continuationId">): string {
  return turn.continuationId ?? turn.id;
}

/**
 * Takes the session's lock and claims the turn, in one statement on the worker's
 * lock connection. `busy`: another connection holds the lock. `gone`: the turn is
 * not queued any more (the lock is not kept).
 */
export async function claimTurn(
  lockSql: Sql,
  workerId: string,
  lockKey: string,
  turnId: string,
): Promise<ClaimedTurn | "busy" | "gone"> {
  const [row] = await lockSql<ClaimRow[]>`
    with held as materialized (select pg_try_advisory_lock(hashtextextended(${lockKey}, 0)) as locked),
    claimed as (
      update turns set status = 'running', attempt = attempt + 1, worker_id = ${workerId}, claimed_at = now(),
        log_attempt = case when continuation_id is null then attempt + 1 else log_attempt end
      from held where held.locked and id = ${turnId} and coalesce(session_id, id) = ${lockKey}
        and status = 'queued' and cancel_requested_at is null
      returning turns.*
    ), continued as (
      update continuations c set status = 'running', started_at = coalesce(c.started_at, now()), log_attempt = claimed.attempt
      from claimed where c.id = claimed.continuation_id
    )
    select held.locked, c.id, c.tenant_id, c.agent_id, c.session_id, c.kind, c.continuation_id, c.attempt, c.agent_version, c.input,
      c.keep_seq, c.assistant_message_id, c.user_id, c.metadata, c.request_id, c.model_calls, c.answer
    from held left join claimed c on true`;
  if (row === undefined || !row.locked) return "busy";
  if (row.id === null) {
    await releaseLock(lockSql, lockKey);
    return "gone";
  }
  return {
    id: row.id,
    tenantId: row.tenant_id,
    agentId: row.agent_id,
    sessionId: row.session_id,
    kind: row.kind,
    continuationId: row.continuation_id,
    attempt: row.attempt,
    agentVersion: row.agent_version,
    input: row.input,
    keepSeq: row.keep_seq,
    assistantMessageId: row.assistant_message_id,
    userId: row.user_id,
    metadata: row.metadata,
    requestId: row.request_id,
    modelCalls: row.model_calls,
    answer: row.answer,
  };
}

/** Lets go of a session's lock. */
export async function releaseLock(lockSql: Sql, lockKey: string): Promise<void> {
  await lockSql`select pg_advisory_unlock(hashtextextended(${lockKey}, 0))`;
}

/** What a claim used. */
export interface TurnUsage {
  readonly provider: string | null;
  readonly providerType: ProviderType | null;
  readonly model: string | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly modelCalls: number;
}

/** A call that waits for a person. */
export interface AskedApproval {
  readonly id: string;
  readonly tool: string;
  readonly toolCallId: string;
  readonly input: unknown;
}

/** How a claim ended: the turn with it, or (`waiting`) the turn stops to ask. */
export interface TurnOutcome {
  readonly status: "succeeded" | "failed" | "canceled" | "waiting";
  readonly error: TurnError | null;
  readonly usage: TurnUsage;
  /** False when the worker is lost that alone knew what the claim used. */
  readonly usageKnown: boolean;
  /** Messages that join the transcript: what succeeded, or what was reached when the turn first stops to ask. */
  readonly messages: readonly UiMessage[];
  /** The answer as a continuation leaves it, in place of the one that was stored when it stopped to ask. */
  readonly replaced: UiMessage | null;
  /** Null leaves the session's as it is. */
  readonly preview: string | null;
  /** The answer of a stateless generation, or of a regeneration that stops to ask: it is not part of the transcript. */
  readonly answer: UiMessage | null;
  /** Events in the log once it is complete. */
  readonly relayEvents: number;
  readonly lastChunk: unknown;
  /** Of a turn that stops to ask. */
  readonly continuationId: string | null;
  readonly approvals: readonly AskedApproval[];
}

/** Names the claim an ending belongs to. */
export interface Fence {
  readonly turnId: string;
  readonly attempt: number;
  readonly statuses: readonly TurnStatus[];
}

/**
 * Ends a claim: the turn's status, transcript, session, continuation, approvals,
 * usage, usage event, credit, the task's run and what its chat is told in one
 * statement, so that all of it happens or none. Answers false, having written
 * nothing, when the claim is gone (the fence of design section 1, rule 3), or when
 * a turn that was cancelled is to end well.
 *
 * The session's row is locked before the turn's, as it is when a turn is
 * accepted: the other way round, a turn sent in the very moment another one ends
 * would deadlock with that end.
 *
 * A regeneration's cut happens here, when it has succeeded, so that a failed one
 * keeps the previous answer. What a cancelled turn had written when it stopped to
 * ask is taken out again. New places in the transcript start above every place that ever was,
 * because `max(seq)` is read from the snapshot before the cut; an answer that a
 * continuation extends moves to a new place, so that `after` cursors meet it again.
 */
export async function finishTurn(sql: AnySql, fence: Fence, outcome: TurnOutcome): Promise<boolean> {
  const { status, error, usage, messages, replaced, preview, answer, relayEvents, continuationId, approvals } = outcome;
  const ends = status !== "waiting";
  const good = status === "succeeded" || status === "waiting";
  const succeeds = status === "succeeded";
  const undoes = status === "canceled";
  const tokens = usage.inputTokens + usage.outputTokens;
  const rows = await sql`
    with home as materialized (
      select s.id from turns t join sessions s on s.id = t.session_id where t.id = ${fence.turnId} for no key update of s
    ), was as materialized (
      select id, continuation_id as leg from turns
      where id = ${fence.turnId} and attempt = ${fence.attempt} and status = any(${fence.statuses as string[]})
        and (${!good} or cancel_requested_at is null) and (select count(*) from home) >= 0
      for no key update
    ), ended as (
      update turns t set status = ${status}, error = ${error === null ? null : json(sql, error)},
        continuation_id = coalesce(${continuationId}, t.continuation_id), worker_id = case when ${ends} then worker_id end,
        finished_at = case when ${ends} then now() end,
        run_ms = run_ms + greatest(0, coalesce(extract(epoch from now() - claimed_at) * 1000, 0))::bigint,
        claimed_at = case when ${ends} then claimed_at end, shown_at = case when ${ends} then shown_at end,
        input_tokens = input_tokens + ${usage.inputTokens}, output_tokens = output_tokens + ${usage.outputTokens},
        model_calls = model_calls + ${usage.modelCalls},
        relay_events = case when was.leg is null then ${relayEvents}::int else relay_events end,
        last_chunk = case when was.leg is null then ${json(sql, outcome.lastChunk)}::json else last_chunk end,
        answer = ${answer === null ? null : json(sql, answer)}
      from was where t.id = was.id
      returning t.*, was.leg
    ), cut as (
      delete from messages m using ended e
      where ${succeeds} and e.keep_seq is not null and m.session_id = e.session_id and m.seq > e.keep_seq
    ), undone as (
      delete from messages m using ended e
      where ${undoes} and e.leg is not null and m.session_id = e.session_id and m.turn_id = e.id
    ), outgrown as (
      delete from session_summaries z using ended e
      where ${succeeds} and e.keep_seq is not null and z.session_id = e.session_id and z.upto_seq > e.keep_seq
    ), joined as (
      insert into messages (session_id, seq, id, role, turn_id, content)
      select e.session_id, coalesce((select max(seq) from messages where session_id = e.session_id), 0) + n.place,
        n.message ->> 'id', n.message ->> 'role', e.id, n.message
      from ended e cross join json_array_elements(${json(sql, messages)}) with ordinality as n (message, place)
      where e.session_id is not null
    ), extended as (
      update messages m set content = ${replaced === null ? null : json(sql, replaced)},
        seq = (select max(seq) from messages where session_id = e.session_id) + 1
      from ended e where ${replaced !== null} and m.session_id = e.session_id and m.id = e.assistant_message_id and m.role = 'assistant'
    ), session as (
      update sessions s set
        visible = visible or ${succeeds},
        updated_at = case when ${good} then now() else updated_at end,
        message_count = case
          when ${undoes} and e.leg is not null then
            (select count(*) from messages where session_id = e.session_id and turn_id <> e.id)
          when ${succeeds} and e.keep_seq is not null then
            (select count(*) from messages where session_id = e.session_id and seq <= e.keep_seq) + ${messages.length}
          else message_count + ${messages.length} end,
        last_message_preview = coalesce(${preview}, last_message_preview),
        deleted_at = case when not ${good} and e.first_of_hidden_session then now() else deleted_at end
      from ended e where s.id = e.session_id
    ), left_off as (
      update continuations c set status = ${good ? "succeeded" : "failed"}, finished_at = now(),
        relay_events = ${relayEvents}, last_chunk = ${json(sql, outcome.lastChunk)},
        error = ${error === null ? null : json(sql, error)}
      from ended e where c.id = e.leg
    ), asks as (
      insert into continuations (id, tenant_id, session_id, turn_id)
      select ${continuationId}, e.tenant_id, e.session_id, e.id from ended e where ${!ends}
    ), asked as (
      insert into approvals (id, tenant_id, session_id, turn_id, continuation_id, tool, tool_call_id, input, assistant_message_id, created_at)
      select a ->> 'id', e.tenant_id, e.session_id, e.id, ${continuationId}, a ->> 'tool', a ->> 'toolCallId', a -> 'input',
        e.assistant_message_id, now() + n.place * interval '1 microsecond'
      from ended e cross join json_array_elements(${json(sql, approvals)}) with ordinality as n (a, place)
      returning id
    ), dropped as (
      update approvals a set status = 'denied', decided_at = now(), reason = 'The turn ended before this was decided.'
      from ended e where ${ends} and e.leg is not null and a.continuation_id = e.leg and a.status = 'pending'
    ), used as (
      insert into usage (turn_id, tenant_id, agent_id, session_id, user_id, provider, model, input_tokens, output_tokens, duration_ms, metadata, day)
      select id, tenant_id, agent_id, coalesce(session_id, ''), user_id, ${usage.provider}, ${usage.model},
        input_tokens, output_tokens, run_ms, metadata, (now() at time zone 'UTC')::date
      from ended where ${ends}
      on conflict (turn_id) do nothing
    ), spent as (
      update tenants t set usage_credit = usage_credit - ${tokens}::bigint
      from ended e where t.id = e.tenant_id and usage_credit is not null and ${tokens}::bigint > 0
    ), ran as (
      update task_runs r set finished_at = now(), updated_at = now(), (status, error, canceled_at) = (
        select case when canceled then 'canceled' else ${status} end,
          case when not canceled then ${error === null ? null : json(sql, error)}::json end, case when canceled then now() end
        from (select r.cancel_requested_at is not null or ${status === "canceled"}) as asked (canceled))
      from ended e where ${ends} and e.kind = 'task' and r.turn_id = e.id and r.status = 'running'
    ), ${billEndedTurn(sql, { ends, known: outcome.usageKnown, ...usage })}, ${handOverToChat(sql, outcome)}
    select id, (select count(*) from rung), (select count(*) from chat_rung) from ended`;
  return rows.length > 0;
}

/** An outcome without messages: a turn that failed or was canceled, having used this much. */
export function badOutcome(
  status: "failed" | "canceled",
  error: TurnError | null,
  usage: Partial<TurnUsage> = {},
): TurnOutcome {
  return {
    status,
    error,
    usage: {
      provider: null,
      providerType: null,
      model: null,
      inputTokens: 0,
      outputTokens: 0,
      modelCalls: 0,
      ...usage,
    },
    usageKnown: true,
    messages: [],
    replaced: null,
    preview: null,
    answer: null,
    relayEvents: 0,
    lastChunk:
      status === "canceled" ? { type: "abort" } : { type: "error", errorText: error?.message ?? "The turn failed." },
    continuationId: null,
    approvals: [],
  };
}

/**
 * Notes that somebody may have seen something of this attempt, or that a tool
 * runs: from now on the turn is not run again. False when the claim is gone.
 */
export async function markShown(sql: AnySql, turnId: string, attempt: number): Promise<boolean> {
  const { count } = await sql`
    update turns set shown_at = coalesce(shown_at, now()) where id = ${turnId} and attempt = ${attempt} and status = 'running'`;
  return count > 0;
}

/** The turn that runs, or waits to run, in a session; null when it is idle. */
export async function activeTurn(sql: AnySql, sessionId: string): Promise<ActiveTurn | null> {
  const [row] = await sql<{ id: string; continuation_id: string | null; status: TurnStatus }[]>`
    select id, continuation_id, status from turns
    where session_id = ${sessionId} and status in ('queued', 'running', 'waiting')`;
  return row === undefined ? null : { id: row.id, continuationId: row.continuation_id, status: row.status };
}

/** A session's turn that has not ended. */
export interface ActiveTurn {
  readonly id: string;
  readonly continuationId: string | null;
  readonly status: TurnStatus;
}

/** The message a turn answered with: from the transcript, or the stateless answer. Null while there is none. */
export async function answerOf(sql: AnySql, turnId: string): Promise<UiMessage | null> {
  const [row] = await sql<{ content: UiMessage | null }[]>`
    select coalesce(t.answer, m.content) as content from turns t
    left join messages m on m.session_id = t.session_id and m.id = t.assistant_message_id and m.role = 'assistant'
    where t.id = ${turnId}`;
  return row?.content ?? null;
}
