import type { AuditActor } from "../kernel/auth/actor.ts";
import type { AnySql, Tx } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import type { IdOf } from "../kernel/ids.ts";
import { applyDecisions, type DecidedCall } from "./decisions.ts";
import { type ApprovalDecision, decideMove } from "./state/continuation.ts";
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
  readonly decidedBy: AuditActor | null;
}

/** What resumes a turn once its approvals are decided. */
export interface Continuation {
  readonly id: IdOf<"continuation">;
  readonly status: "waiting" | "queued" | "running" | "succeeded" | "failed";
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
}

interface ApprovalRow extends DecidedCall {
  id: IdOf<"approval">;
  tool: string;
  input: unknown;
  createdAt: Date;
  decidedAt: Date | null;
  decidedBy: AuditActor | null;
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
export async function decideApproval(
  inner: Tx,
  sessionId: string,
  approvalId: string,
  decision: ApprovalDecision,
): Promise<{ approval: ToolApproval; continuation: Continuation }> {
  const [found] = await inner<{ turnId: IdOf<"turn">; continuationId: IdOf<"continuation"> }[]>`
    select turn_id, continuation_id from approvals where id = ${approvalId} and session_id = ${sessionId}`;
  if (found === undefined) throw new ApiError("not_found");
  await inner`select 1 from turns where id = ${found.turnId} for no key update`;
  const [approval] = await inner<ApprovalRow[]>`${decideMove(inner, approvalId, decision)}`;
  if (approval === undefined) throw new ApiError("approval_decided");
  await applyDecisions(inner, [approval]);
  const [continuation] = await inner<ContinuationRow[]>`select * from continuations where id = ${found.continuationId}`;
  return { approval: showApproval(approval), continuation: showContinuation(continuation as ContinuationRow) };
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
    decidedBy: row.decidedBy,
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
