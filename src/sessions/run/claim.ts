import { agentOfTurn, type LoadedAgentRow, toLoadedAgent } from "../../agents/load.ts";
import type { Sql } from "../../kernel/database/client.ts";
import type { IdOf } from "../../kernel/ids.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { ClaimedTurn } from "../state/claimed-turn.ts";
import { startContinuation } from "../state/continuation.ts";
import { type HistoryRow, historyOfRow, historyOfTurn, noHistory } from "../state/history.ts";
import { claimMove, type TurnKind } from "../state/turn.ts";

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
  waitedSeconds: number;
  traceparent: string | null;
  modelCalls: number;
  answer: UiMessage | null;
}

/**
 * Takes the session's lock, claims the turn and reads what it runs on, in one
 * statement on the worker's lock connection. `busy`: another connection holds the
 * lock. `gone`: the turn is not queued any more (the lock is not kept).
 *
 * The statement's snapshot is older than the lock, but it has everything the turn needs:
 * what precedes the turn was committed before the turn was queued.
 */
export async function claimTurn(
  lockSql: Sql,
  workerId: IdOf<"worker">,
  lockKey: string,
  turnId: string,
): Promise<ClaimedTurn | "busy" | "gone"> {
  const [row] = await lockSql<ClaimRow[]>`
    with held as materialized (select pg_try_advisory_lock(hashtextextended(${lockKey}, 0)) as locked),
    claimed as (${claimMove(lockSql, { turnId, lockKey, workerId })}
    ), continued as (${startContinuation(lockSql)}
    )
    select held.locked, t.id, t.tenant_id, t.agent_id, t.session_id, t.kind, t.continuation_id, t.attempt, t.agent_version, t.input,
      t.keep_seq, t.assistant_message_id, t.user_id, t.metadata as turn_metadata, t.request_id, t.model_calls, t.answer,
      t.traceparent, extract(epoch from now() - t.accepted_at)::float8 as waited_seconds, agent.*, history.*
    from held left join claimed t on true
    left join lateral (${agentOfTurn(lockSql)}) agent on true
    left join lateral (${historyOfTurn(lockSql, "small")}) history on true`;
  if (row === undefined || !row.locked) return "busy";
  if (row.id === null) {
    await releaseLock(lockSql, lockKey);
    return "gone";
  }
  return {
    id: row.id,
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
    waitedSeconds: row.waitedSeconds,
    traceparent: row.traceparent,
    modelCalls: row.modelCalls,
    answer: row.answer,
    agent: toLoadedAgent(row),
    history: row.sessionId === null ? noHistory(row.turnMetadata) : historyOfRow(row),
  };
}

/** Releases a session's lock. */
export async function releaseLock(lockSql: Sql, lockKey: string): Promise<void> {
  await lockSql`select pg_advisory_unlock(hashtextextended(${lockKey}, 0))`;
}
