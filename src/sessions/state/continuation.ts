import { type AuditActor, systemActor } from "../../kernel/auth/actor.ts";
import { type AnySql, json } from "../../kernel/database/client.ts";

/**
 * The states of a continuation, of an approval and of a call of a client tool, and every
 * statement that moves one. They move in the statement or the transaction that moves their turn, whose
 * row is their lock; see `turn.ts`.
 *
 *    continuation:
 *
 *     ask            resume           claim             end, ask
 *   ──────► waiting ────────► queued ───────► running ───────────► succeeded, failed
 *              │                │                                     ▲
 *              └────────────────┴───────── end: failed ───────────────┘
 *
 *    approval:
 *
 *     ask             decide (a person)
 *   ──────► pending ─────────────────────► approved, denied
 *              ├─────── expire ──────────► denied (`pause_hours` of the tenant after it was asked)
 *              └─────── end ─────────────► denied
 *
 *    call of a client tool:
 *
 *     ask             settle (the caller)
 *   ──────► pending ─────────────────────► done, failed
 *              ├─────── expire ──────────► failed (as an approval)
 *              └─────── end ─────────────► failed
 *
 * The moves *unclaim* and *requeue* of a turn leave its continuation as `running`, which the
 * next claim sets again.
 *
 * A continuation that ends is `succeeded` when the turn succeeded or stops to ask
 * again; otherwise it is `failed`, also when the turn was canceled.
 */

/** A decision, and who made it. */
export interface ApprovalDecision {
  readonly approved: boolean;
  readonly reason: string | null;
  readonly decidedBy: AuditActor;
  /** What the chat platform calls that person; null for anybody else. */
  readonly name: string | null;
}

/** The reason that an expired call is denied with, and the error that one of a client tool ends with. */
export const expiredReason = "expired";

/**
 * Returns the CTEs of the move *ask*: the continuation that waits, and the approvals (`approval`) and the calls of client
 * tools (`called`) it waits for. They read `ended`, with what the row of an end has for them (`end/end-row.ts`).
 */
export function askMove(sql: AnySql) {
  return sql`asks as (
      insert into continuations (id, tenant_id, session_id, turn_id, said_parts, said_bytes)
      select e.continuation_id, e.tenant_id, e.session_id, e.id, e.said_parts, coalesce(e.new_replaced_bytes, (
        select octet_length(n.message::text) from json_array_elements(e.new_messages) n (message) where n.message ->> 'id' = e.assistant_message_id))
      from ended e
    ), approval as (
      insert into approvals (id, tenant_id, session_id, turn_id, continuation_id, tool, tool_call_id, input, assistant_message_id, created_at)
      select a ->> 'id', e.tenant_id, e.session_id, e.id, e.continuation_id, a ->> 'tool', a ->> 'toolCallId', a -> 'input',
        e.assistant_message_id, now() + n.place * interval '1 microsecond'
      from ended e cross join json_array_elements(e.approvals) with ordinality as n (a, place)
      returning id, tool_call_id
    ), called as (
      insert into client_calls (tenant_id, session_id, turn_id, continuation_id, tool, tool_call_id, input, assistant_message_id, created_at)
      select e.tenant_id, e.session_id, e.id, e.continuation_id, c ->> 'tool', c ->> 'toolCallId', c -> 'input',
        e.assistant_message_id, now() + n.place * interval '1 microsecond'
      from ended e cross join json_array_elements(e.client_calls) with ordinality as n (c, place)
      order by n.place
      returning tool_call_id
    )`;
}

/**
 * Returns the statement of the move *decide*, which returns the approval's row, or none
 * when the approval is not pending any more.
 */
export function decideMove(sql: AnySql, approvalId: string, { approved, reason, decidedBy, name }: ApprovalDecision) {
  return sql`
      update /* approval.decide */ approvals set status = ${approved ? "approved" : "denied"}, reason = ${reason}, decided_at = now(),
        decided_by = ${json(sql, decidedBy)}, decided_by_name = ${name}
      where id = ${approvalId} and status = 'pending' returning *`;
}

/** Returns the statement of the move *expire*, which returns the rows of the approvals that nobody decided in time. */
export function expireMove(sql: AnySql, continuationId: string) {
  return sql`
      update /* approval.expire */ approvals set status = 'denied', reason = ${expiredReason}, decided_at = now(), decided_by = ${json(sql, systemActor)}
      where continuation_id = ${continuationId} and status = 'pending' returning *`;
}

/**
 * Returns the statement of the move *settle*: the caller has given a result, good or not. It returns
 * the call's row, or none when the call is not pending any more.
 */
export function settleMove(sql: AnySql, callId: string, good: boolean) {
  return sql`
      update /* call.settle */ client_calls set status = ${good ? "done" : "failed"}, settled_at = now()
      where id = ${callId} and status = 'pending' returning *`;
}

/** Returns the same as `expireMove` for calls of client tools. */
export function expireCallsMove(sql: AnySql, continuationId: string) {
  return sql`
      update /* call.expire */ client_calls set status = 'failed', settled_at = now()
      where continuation_id = ${continuationId} and status = 'pending' returning *`;
}

/** Returns whether a continuation waits for nothing any more: each approval is decided, and each call of a client tool has its result. */
export async function isSettled(sql: AnySql, continuationId: string): Promise<boolean> {
  const [row] = await sql<{ waits: boolean }[]>`
    select /* continuation.is_open */ exists (select 1 from approvals where continuation_id = ${continuationId} and status = 'pending')
      or exists (select 1 from client_calls where continuation_id = ${continuationId} and status = 'pending') as waits`;
  return row?.waits === false;
}

/** The move *resume*: nothing is left to wait for. */
export async function queueContinuation(sql: AnySql, continuationId: string): Promise<void> {
  await sql`update /* continuation.queue */ continuations set status = 'queued' where id = ${continuationId} and status = 'waiting'`;
}

/** Returns the statement of the move *claim*, to be used as a CTE. It reads `claimed`, the turn's row. */
export function startContinuation(sql: AnySql) {
  return sql`
      update continuations c set status = 'running', started_at = coalesce(c.started_at, now()), 
        log_attempt = coalesce(case when claimed.steps_done > 0 then c.log_attempt end, claimed.attempt)
      from claimed where c.id = claimed.continuation_id
      returning c.turn_id, c.log_attempt, coalesce(c.caller_options, (
        select e.caller_options from continuations e
        where e.turn_id = c.turn_id and e.caller_options is not null order by e.created_at desc, e.id desc limit 1
      )) as caller_options`;
}

/** Returns the CTE of the move *end* of the continuation that a claim ran. It reads `ended`. */
export function endContinuation(sql: AnySql) {
  return sql`left_off as (
      update continuations c set status = case when e.is_good then 'succeeded' else 'failed' end, finished_at = now(),
        relay_events = e.new_relay_events, last_chunk = e.new_last_chunk, error = e.new_error
      from ended e where e.leg is not null and c.id = e.leg
    )`;
}

/** Returns the CTEs that deny what still waits for a person when the turn ends, and give up what waits for the caller. They read `ended`. */
export function dropWaiting(sql: AnySql) {
  return sql`dropped as (
      update approvals a set status = 'denied', decided_at = now(), decided_by = ${json(sql, systemActor)}, reason = 'The turn ended before this was decided.'
      from ended e where e.leg is not null and a.continuation_id = e.leg and a.status = 'pending'
    ), given_up as (
      update client_calls c set status = 'failed', settled_at = now()
      from ended e where e.leg is not null and c.continuation_id = e.leg and c.status = 'pending'
    )`;
}
