import { settingValues } from "../../kernel/audit/changed-values.ts";
import type { AuditActor } from "../../kernel/auth/actor.ts";
import type { AnySql, Tx } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";
import type { IdOf } from "../../kernel/ids.ts";
import type { CallDecision } from "../../messages/tool-calls.ts";
import { type ApprovalDecision, decideMove } from "../state/continuation.ts";
import { type Continuation, continuationById, latestContinuation } from "./continuations.ts";
import { applySettled, type Pause } from "./pause.ts";

/** A call that waits, or waited, for a person (docs/decisions/approvals.md). */
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

/** An approval's row. */
export interface ApprovalRow extends Pause {
  readonly id: IdOf<"approval">;
  readonly tenantId: IdOf<"tenant">;
  readonly tool: string;
  readonly toolCallId: string;
  readonly input: unknown;
  readonly status: ToolApproval["status"];
  readonly reason: string | null;
  readonly createdAt: Date;
  readonly decidedAt: Date | null;
  readonly decidedBy: AuditActor | null;
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
      select /* approval.list */ * from (
        select * from approvals where session_id = ${sessionId} order by created_at desc, id desc limit ${approvalsListedMax}
      ) newest order by created_at, id`,
    latestContinuation(sql, sessionId),
  ]);
  return { approvals: approvals.map(showApproval), continuation };
}

/**
 * Decides on one call, once (`POST
 * /v1/agents/:agentId/sessions/:sessionId/tool-approvals/:approvalId`). When nothing else of the
 * message is waited for, that queues its continuation, in the same transaction. The lock on the turn's
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
    select /* approval.find */ turn_id, continuation_id from approvals where id = ${approvalId} and session_id = ${sessionId}`;
  if (found === undefined) throw new ApiError("not_found");
  await inner`select /* turn.lock_row */ 1 from turns where id = ${found.turnId} for no key update`;
  const [approval] = await inner<ApprovalRow[]>`${decideMove(inner, approvalId, decision)}`;
  if (approval === undefined) throw new ApiError("approval_decided");
  await applySettled(inner, approval, { decisions: [decisionOf(approval)], results: [] });
  return { approval: showApproval(approval), continuation: await continuationById(inner, found.continuationId) };
}

/** Returns the decision in the row of an approval that was decided. */
export function decisionOf({ toolCallId, status, reason }: ApprovalRow): CallDecision {
  return { toolCallId, approved: status === "approved", reason };
}

/** Returns what an audit event of a decision says of it: which one it was. A reason is what somebody wrote, and only named. */
export function decisionEntry({ approved, reason }: Pick<ApprovalDecision, "approved" | "reason">) {
  const status = { field: "status", before: "pending", after: approved ? "approved" : "denied" };
  return { changes: reason === null ? ["status"] : ["status", "reason"], values: settingValues([status]) };
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
