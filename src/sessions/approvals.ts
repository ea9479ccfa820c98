import { type AnySql, json, type Tx } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import type { IdOf } from "../kernel/ids.ts";
import { withDecisions } from "../messages/tool-calls.ts";
import type { UiMessage } from "../messages/ui-message.ts";
import { enqueueCards } from "./run/hand-over.ts";
import { decideMove, queueContinuation } from "./state/continuation.ts";
import { resumeTurn } from "./state/turn.ts";
import type { TurnError } from "./state/turn-end.ts";

/** A call that waits, or waited, for a person (docs/decisions.md, "Approvals"). */
export interface ToolApproval {
  readonly id: IdOf<"approval">;
  readonly sessionId: IdOf<"session">;
  readonly turnId: IdOf<"turn">;
  readonly tool: string;
  readonly toolCallId: string;
  readonly input: unknown;
  readonly assistantMessageId: IdOf<"message">;
  readonly status: "pending" | "approved" | "denied";
  readonly reason: string | null;
  readonly createdAt: string;
  readonly decidedAt: string | null;
}

/** What resumes a turn once its approvals are decided. */
export interface Continuation {
  readonly id: IdOf<"continuation">;
  readonly status: "waiting" | "queued" | "running" | "succeeded" | "failed";
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
}

interface ApprovalRow {
  id: IdOf<"approval">;
  sessionId: IdOf<"session">;
  turnId: IdOf<"turn">;
  continuationId: IdOf<"continuation">;
  tool: string;
  toolCallId: string;
  input: unknown;
  assistantMessageId: IdOf<"message">;
  status: ToolApproval["status"];
  reason: string | null;
  createdAt: Date;
  decidedAt: Date | null;
}

interface ContinuationRow {
  id: IdOf<"continuation">;
  status: Continuation["status"];
  error: TurnError | null;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
}

/** A session has at most this many approvals listed: the newest. */
const approvalsListedMax = 1_000;

/** Returns the approvals of a session (the newest `approvalsListedMax`, oldest first) and its latest continuation. */
export async function listApprovals(
  sql: AnySql,
  sessionId: string,
): Promise<{ approvals: ToolApproval[]; continuation: Continuation | null }> {
  const [approvals, continuation] = await Promise.all([
    sql<ApprovalRow[]>`
      select * from (
        select * from approvals where session_id = ${sessionId} order by created_at desc, id desc limit ${approvalsListedMax}
      ) newest order by created_at, id`,
    sql<ContinuationRow[]>`
      select * from continuations where session_id = ${sessionId} order by created_at desc, id desc limit 1`,
  ]);
  return {
    approvals: approvals.map(showApproval),
    continuation: continuation[0] === undefined ? null : showContinuation(continuation[0]),
  };
}

/**
 * Decides on one call, once (`POST
 * /v1/agents/:agentId/sessions/:sessionId/tool-approvals/:approvalId`). The last decision
 * of a message queues its continuation, in the same transaction. The lock on the turn's
 * row makes the second of two concurrent decisions see the first.
 *
 * Returns the approval and its continuation. Throws 404, and 409 `approval_decided` when
 * it is decided already.
 */
export function decideApproval(
  sql: AnySql,
  sessionId: string,
  approvalId: string,
  decision: { readonly approved: boolean; readonly reason: string | null },
): Promise<{ approval: ToolApproval; continuation: Continuation }> {
  return tx(sql, async (inner) => {
    const [found] = await inner<{ turnId: IdOf<"turn">; continuationId: IdOf<"continuation"> }[]>`
      select turn_id, continuation_id from approvals where id = ${approvalId} and session_id = ${sessionId}`;
    if (found === undefined) throw new ApiError("not_found");
    await inner`select 1 from turns where id = ${found.turnId} for no key update`;
    const [approval] = await inner<ApprovalRow[]>`${decideMove(inner, approvalId, decision)}`;
    if (approval === undefined) throw new ApiError("approval_decided");
    await writeDecision(inner, approval);
    await enqueueCards(inner, sessionId);
    const [left] = await inner`
      select 1 from approvals where continuation_id = ${found.continuationId} and status = 'pending' limit 1`;
    if (left === undefined) {
      await queueContinuation(inner, found.continuationId);
      await resumeTurn(inner, found.turnId, found.continuationId);
    }
    const [continuation] = await inner<
      ContinuationRow[]
    >`select * from continuations where id = ${found.continuationId}`;
    return { approval: showApproval(approval), continuation: showContinuation(continuation as ContinuationRow) };
  });
}

/**
 * Writes a decision into the stored answer, so that a client which reads the transcript
 * now can continue with it: the AI SDK's client resumes a message whose calls are
 * `approval-responded`, and does not wait for calls that are undecided. The turn's row is
 * locked, so that of two concurrent decisions neither undoes the other.
 */
async function writeDecision(inner: Tx, approval: ApprovalRow): Promise<void> {
  const { turnId, sessionId, assistantMessageId } = approval;
  const [stored] = await inner<{ kept: UiMessage | null; content: UiMessage | null }[]>`
    select t.answer as kept, m.content from turns t
    left join messages m on m.session_id = t.session_id and m.id = t.assistant_message_id and m.role = 'assistant'
    where t.id = ${turnId}`;
  const decided = (message: UiMessage) =>
    json(
      inner,
      withDecisions(message, [
        { toolCallId: approval.toolCallId, approved: approval.status === "approved", reason: approval.reason },
      ]),
    );
  // A regeneration's unfinished answer is in the turn's row; the transcript has the previous one.
  if (stored?.kept != null) await inner`update turns set answer = ${decided(stored.kept)} where id = ${turnId}`;
  else if (stored?.content != null) {
    await inner`
      update messages set content = ${decided(stored.content)}
      where session_id = ${sessionId} and id = ${assistantMessageId} and role = 'assistant'`;
  }
}

function showApproval(row: ApprovalRow): ToolApproval {
  return {
    id: row.id,
    sessionId: row.sessionId,
    turnId: row.turnId,
    tool: row.tool,
    toolCallId: row.toolCallId,
    input: row.input,
    assistantMessageId: row.assistantMessageId,
    status: row.status,
    reason: row.reason,
    createdAt: row.createdAt.toISOString(),
    decidedAt: row.decidedAt?.toISOString() ?? null,
  };
}

function showContinuation(row: ContinuationRow): Continuation {
  return {
    id: row.id,
    status: row.status,
    createdAt: row.createdAt.toISOString(),
    startedAt: row.startedAt?.toISOString() ?? null,
    finishedAt: row.finishedAt?.toISOString() ?? null,
  };
}
