import type postgres from "postgres";
import { agentOfTurn, type LoadedAgentRow, toLoadedAgent } from "../../agents/load.ts";
import type { AnySql, Sql } from "../../kernel/database/client.ts";
import { tx } from "../../kernel/database/transaction.ts";
import type { IdOf } from "../../kernel/ids.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { ResponseFormat } from "../../model/response-format.ts";
import type { ClaimedTurn } from "../state/claimed-turn.ts";
import { startContinuation } from "../state/continuation.ts";
import { type HistoryRow, historyOfRow, historyOfTurn, noHistory } from "../state/history.ts";
import { runningTurns } from "../state/parked.ts";
import { type ClaimWay, claimMove, type TurnKind } from "../state/turn.ts";
import type { TurnStep } from "../state/turn-step.ts";

interface ClaimRow extends LoadedAgentRow, HistoryRow {
  locked: boolean;
  id: IdOf<"turn"> | null;
  tenantId: IdOf<"tenant">;
  agentId: IdOf<"agent">;
  sessionId: IdOf<"session"> | null;
  kind: TurnKind;
  continuationId: IdOf<"continuation"> | null;
  attempt: number;
  agentVersion: number;
  input: UiMessage | UiMessage[] | null;
  keepSeq: number | null;
  assistantMessageId: IdOf<"message">;
  userId: string;
  turnMetadata: Record<string, unknown>;
  requestId: string | null;
  claimedAt: Date;
  steps: TurnStep[] | null;
  waitedSeconds: number;
  traceparent: string | null;
  logAttempt: number;
  stepsDone: number;
  stepEvents: number;
  toolEvents: number | null;
  modelCalls: number;
  usedTokens: number;
  responseFormat: ResponseFormat | null;
  runMs: number;
  usageCredit: number | null;
  answer: UiMessage | null;
}

/** A turn that is to be claimed. */
export interface AskedClaim {
  readonly turnId: string;
  /** Its session, or the turn itself when it has none. */
  readonly lockKey: string;
  readonly tenantId: string;
  readonly way: ClaimWay;
}

/** Why a turn was not claimed; the session's lock is not kept. */
export type ClaimRefusal =
  /** Another connection holds the session's lock. */
  | "busy"
  /** The turn is not queued any more. */
  | "gone"
  /** It may not run now: older turns of its tenant are parked, or the tenant's limit of running turns is reached or has to be counted. */
  | "waits";

/**
 * Takes the session's lock, claims the turn and reads what it runs on, in one
 * statement on the worker's lock connection.
 *
 * The statement's snapshot is older than the lock, but it has everything the turn needs:
 * what precedes the turn was committed before the turn was queued.
 */
export async function claimTurn(
  lockSql: Sql,
  workerId: IdOf<"worker">,
  asked: AskedClaim,
): Promise<ClaimedTurn | ClaimRefusal> {
  const held = lockSql`select ${tryLock(lockSql, asked.lockKey)} as locked`;
  const row = await readClaim(lockSql, workerId, asked, held);
  if (row === undefined || !row.locked) return "busy";
  if (row.id !== null) return toClaimedTurn(row);
  await releaseLock(lockSql, asked.lockKey);
  return asked.way === "job" && (await isQueued(lockSql, asked.turnId)) ? "waits" : "gone";
}

/**
 * Does what `claimTurn` does for a turn whose tenant has a limit of running turns. Claims of
 * one tenant come one after another over all workers, each counting what the one before it
 * committed. That waits, so it is not done on the lock connection, but for the session's lock.
 */
export async function claimCounted(
  { lockSql, sql }: { readonly lockSql: Sql; readonly sql: Sql },
  workerId: IdOf<"worker">,
  asked: AskedClaim,
): Promise<ClaimedTurn | ClaimRefusal> {
  const [held] = await lockSql<{ locked: boolean }[]>`select ${tryLock(lockSql, asked.lockKey)} as locked`;
  if (held?.locked !== true) return "busy";
  const row = await tx(sql, async (inner) => {
    await inner`select pg_advisory_xact_lock(hashtextextended(${`running-turns:${asked.tenantId}`}, 0))`;
    const room = inner`
      select n.running_turns is null or ${runningTurns(inner, inner`n.id`, inner`n.running_turns`)} < n.running_turns as locked
      from tenants n where n.id = ${asked.tenantId}`;
    return readClaim(inner, workerId, asked, room);
  });
  if (row !== undefined && row.id !== null) return toClaimedTurn(row);
  await releaseLock(lockSql, asked.lockKey);
  return row?.locked === true ? "gone" : "waits";
}

async function readClaim(
  sql: AnySql,
  workerId: IdOf<"worker">,
  asked: AskedClaim,
  held: postgres.Fragment,
): Promise<ClaimRow | undefined> {
  const [row] = await sql<ClaimRow[]>`
    with held as materialized (${held}),
    claimed as (${claimMove(sql, { ...asked, workerId })}
    ), continued as (${startContinuation(sql)}
    )
    select held.locked, t.id, t.tenant_id, t.agent_id, t.session_id, t.kind, t.continuation_id, t.attempt, t.agent_version, t.input,
      t.keep_seq, t.assistant_message_id, t.user_id, t.metadata as turn_metadata, t.request_id, t.model_calls, t.input_tokens + t.output_tokens as used_tokens, t.run_ms, t.response_format, t.answer,
      coalesce((select log_attempt from continued), t.log_attempt) as log_attempt, t.steps_done, t.step_events, t.tool_events,
      t.traceparent, t.claimed_at, t.steps, extract(epoch from now() - coalesce(t.queued_at, t.accepted_at))::float8 as waited_seconds,
      (select n.usage_credit from tenants n where n.id = t.tenant_id) as usage_credit, agent.*, history.*
    from held left join claimed t on true
    left join lateral (${agentOfTurn(sql)}) agent on true
    left join lateral (${historyOfTurn(sql, "small")}) history on true`;
  return row;
}

async function isQueued(sql: AnySql, turnId: string): Promise<boolean> {
  const rows =
    await sql`select 1 from turns where id = ${turnId} and status = 'queued' and cancel_requested_at is null`;
  return rows.length > 0;
}

function tryLock(sql: AnySql, lockKey: string): postgres.Fragment {
  return sql`pg_try_advisory_lock(hashtextextended(${lockKey}, 0))`;
}

/** The row is one whose turn was claimed. */
function toClaimedTurn(row: ClaimRow): ClaimedTurn {
  const agent = toLoadedAgent(row);
  return {
    id: row.id as IdOf<"turn">,
    tenantId: row.tenantId,
    agentId: row.agentId,
    sessionId: row.sessionId,
    kind: row.kind,
    continuationId: row.continuationId,
    attempt: row.attempt,
    agentVersion: row.agentVersion,
    input: row.input,
    keepSeq: row.keepSeq,
    assistantMessageId: row.assistantMessageId,
    userId: row.userId,
    metadata: row.turnMetadata,
    requestId: row.requestId,
    claimedAt: row.claimedAt,
    steps: row.steps ?? [],
    waitedSeconds: row.waitedSeconds,
    traceparent: row.traceparent,
    logAttempt: row.logAttempt,
    stepsDone: row.stepsDone,
    stepEvents: row.stepEvents,
    toolEvents: row.toolEvents,
    modelCalls: row.modelCalls,
    usedTokens: row.usedTokens,
    responseFormat: row.responseFormat,
    runMs: row.runMs,
    usageCredit: row.usageCredit,
    answer: row.answer,
    agent,
    hasFallbacks: (agent?.config?.fallbackModels.length ?? 0) > 0,
    history: row.sessionId === null ? noHistory(row.turnMetadata) : historyOfRow(row),
  };
}

/** Releases a session's lock. */
export async function releaseLock(lockSql: Sql, lockKey: string): Promise<void> {
  await lockSql`select pg_advisory_unlock(hashtextextended(${lockKey}, 0))`;
}
