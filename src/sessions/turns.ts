import { type AnySql, json, type Sql } from "../db.ts";
import type { UiMessage } from "./schema.ts";

/**
 * The state machine of a turn, all of it: every move is a guarded update, and
 * zero rows means that somebody else moved the turn first.
 *
 *     queued → running → succeeded | failed | canceled
 */

export type TurnStatus = "queued" | "running" | "waiting" | "succeeded" | "failed" | "canceled";

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
  readonly attempt: number;
  readonly agentVersion: number;
  /** The user's message, or all messages of a stateless generation; null for a regeneration. */
  readonly input: UiMessage | readonly UiMessage[] | null;
  readonly keepSeq: number | null;
  readonly assistantMessageId: string;
  readonly userId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly requestId: string | null;
}

interface ClaimRow {
  locked: boolean;
  id: string | null;
  tenant_id: string;
  agent_id: string;
  session_id: string | null;
  attempt: number;
  agent_version: number;
  input: UiMessage | UiMessage[] | null;
  keep_seq: number | null;
  assistant_message_id: string;
  user_id: string;
  metadata: Record<string, unknown>;
  request_id: string | null;
}

/** The advisory lock that says "this session's turn is being run" (stateless turns: the turn's own). */
export function lockKeyOf(turn: { readonly sessionId: string | null; readonly id: string }): string {
  return turn.sessionId ?? turn.id;
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
      update turns set status = 'running', attempt = attempt + 1, worker_id = ${workerId}, claimed_at = now()
      from held where held.locked and id = ${turnId} and status = 'queued' and cancel_requested_at is null
      returning turns.*
    )
    select held.locked, c.id, c.tenant_id, c.agent_id, c.session_id, c.attempt, c.agent_version, c.input, c.keep_seq,
      c.assistant_message_id, c.user_id, c.metadata, c.request_id
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
    attempt: row.attempt,
    agentVersion: row.agent_version,
    input: row.input,
    keepSeq: row.keep_seq,
    assistantMessageId: row.assistant_message_id,
    userId: row.user_id,
    metadata: row.metadata,
    requestId: row.request_id,
  };
}

/** Lets go of a session's lock. */
export async function releaseLock(lockSql: Sql, lockKey: string): Promise<void> {
  await lockSql`select pg_advisory_unlock(hashtextextended(${lockKey}, 0))`;
}

/** What a turn used, for the usage row. */
export interface TurnUsage {
  readonly provider: string | null;
  readonly model: string | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** How a turn ended. */
export interface TurnOutcome {
  readonly status: "succeeded" | "failed" | "canceled";
  readonly error: TurnError | null;
  readonly usage: TurnUsage;
  /** Messages that join the transcript: only a success has any. */
  readonly messages: readonly UiMessage[];
  readonly preview: string;
  /** The answer of a stateless generation. */
  readonly answer: UiMessage | null;
  /** Events in the relay's log once it is complete. */
  readonly relayEvents: number;
}

/** Names the claim an ending belongs to; null in place of a worker ends whatever claim there is. */
export interface Fence {
  readonly turnId: string;
  readonly attempt: number;
  readonly statuses: readonly TurnStatus[];
}

/**
 * Ends a turn: its status, transcript, session, usage and credit in one
 * statement, so that all of it happens or none. Answers false, having written
 * nothing, when the claim is gone (the fence of design section 1, rule 3).
 *
 * A regeneration's cut happens here, so that a failed one keeps the previous
 * answer. New places in the transcript start above every place that ever was,
 * because `max(seq)` is read from the snapshot before the cut.
 */
export async function finishTurn(sql: AnySql, fence: Fence, outcome: TurnOutcome): Promise<boolean> {
  const { status, error, usage, messages, preview, answer, relayEvents } = outcome;
  const rows = await sql`
    with ended as (
      update turns set status = ${status}, error = ${error === null ? null : json(sql, error)}, finished_at = now(),
        input_tokens = ${usage.inputTokens}, output_tokens = ${usage.outputTokens}, relay_events = ${relayEvents},
        answer = ${answer === null ? null : json(sql, answer)}
      where id = ${fence.turnId} and attempt = ${fence.attempt} and status = any(${fence.statuses as string[]})
      returning *
    ), cut as (
      delete from messages m using ended e
      where ${status === "succeeded"} and e.keep_seq is not null and m.session_id = e.session_id and m.seq > e.keep_seq
    ), joined as (
      insert into messages (session_id, seq, id, role, turn_id, content)
      select e.session_id, coalesce((select max(seq) from messages where session_id = e.session_id), 0) + n.place,
        n.message ->> 'id', n.message ->> 'role', e.id, n.message
      from ended e cross join json_array_elements(${json(sql, messages)}) with ordinality as n (message, place)
      where e.session_id is not null
    ), session as (
      update sessions s set
        visible = visible or ${status === "succeeded"},
        updated_at = case when ${status === "succeeded"} then now() else updated_at end,
        message_count = case when not ${status === "succeeded"} then message_count
          when e.keep_seq is null then message_count + ${messages.length}
          else (select count(*) from messages where session_id = e.session_id and seq <= e.keep_seq) + ${messages.length} end,
        last_message_preview = case when ${status === "succeeded"} then ${preview} else last_message_preview end,
        deleted_at = case when ${status !== "succeeded"} and e.first_of_hidden_session then now() else deleted_at end
      from ended e where s.id = e.session_id
    ), used as (
      insert into usage (turn_id, tenant_id, agent_id, session_id, user_id, provider, model, input_tokens, output_tokens, duration_ms, metadata, day)
      select id, tenant_id, agent_id, coalesce(session_id, ''), user_id, ${usage.provider}, ${usage.model},
        ${usage.inputTokens}, ${usage.outputTokens},
        greatest(0, extract(epoch from now() - coalesce(claimed_at, now())) * 1000)::bigint, metadata,
        (now() at time zone 'UTC')::date
      from ended
      on conflict (turn_id) do nothing
    ), spent as (
      update tenants t set usage_credit = usage_credit - ${usage.inputTokens + usage.outputTokens}::bigint
      from ended e where t.id = e.tenant_id and usage_credit is not null and ${usage.inputTokens + usage.outputTokens}::bigint > 0
    )
    select id from ended`;
  return rows.length > 0;
}

/**
 * Notes that somebody may have seen something of this attempt, or that a tool
 * ran: from now on the turn is not run again. False when the claim is gone.
 */
export async function markShown(sql: AnySql, turnId: string, attempt: number): Promise<boolean> {
  const { count } = await sql`
    update turns set shown_at = coalesce(shown_at, now()) where id = ${turnId} and attempt = ${attempt} and status = 'running'`;
  return count > 0;
}

/** Where a turn stands, for followers and the reaper. */
export interface TurnState {
  readonly id: string;
  readonly sessionId: string | null;
  readonly status: TurnStatus;
  readonly attempt: number;
  readonly assistantMessageId: string;
  readonly error: TurnError | null;
  readonly relayEvents: number | null;
}

interface StateRow {
  id: string;
  session_id: string | null;
  status: TurnStatus;
  attempt: number;
  assistant_message_id: string;
  error: TurnError | null;
  relay_events: number | null;
}

/** The states of some turns. */
export async function turnStates(sql: AnySql, turnIds: readonly string[]): Promise<TurnState[]> {
  const rows = await sql<StateRow[]>`
    select id, session_id, status, attempt, assistant_message_id, error, relay_events from turns where id = any(${turnIds as string[]})`;
  return rows.map(showState);
}

/** The turn that runs, or waits to run, in a session; null when it is idle. */
export async function activeTurn(sql: AnySql, sessionId: string): Promise<TurnState | null> {
  const [row] = await sql<StateRow[]>`
    select id, session_id, status, attempt, assistant_message_id, error, relay_events from turns
    where session_id = ${sessionId} and status in ('queued', 'running', 'waiting')`;
  return row === undefined ? null : showState(row);
}

function showState(row: StateRow): TurnState {
  return {
    id: row.id,
    sessionId: row.session_id,
    status: row.status,
    attempt: row.attempt,
    assistantMessageId: row.assistant_message_id,
    error: row.error,
    relayEvents: row.relay_events,
  };
}

/** Whether a turn has ended. */
export function isEnded(status: TurnStatus): boolean {
  return status === "succeeded" || status === "failed" || status === "canceled";
}

/** The message a turn answered with: from the transcript, or the stateless answer. Null while there is none. */
export async function answerOf(sql: AnySql, turnId: string): Promise<UiMessage | null> {
  const [row] = await sql<{ content: UiMessage | null }[]>`
    select coalesce(t.answer, m.content) as content from turns t
    left join messages m on m.session_id = t.session_id and m.id = t.assistant_message_id
    where t.id = ${turnId}`;
  return row?.content ?? null;
}
