import type { Ctx } from "../kernel/context.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import type { ApprovalRow } from "../sessions/pause/approvals.ts";
import type { ClientCallRow } from "../sessions/pause/client-calls.ts";
import { settlePause } from "../sessions/pause/settle.ts";
import { logAttemptOf, logStates } from "../sessions/state/turn-log.ts";
import type { AskedResponse } from "./asked.ts";
import type { FollowedResponse } from "./follow.ts";
import { continuedOptions } from "./options.ts";
import { responseIdOf } from "./response-id.ts";

/**
 * Gives a turn that waits the outputs of its function calls, and decisions on its approvals. The response is
 * the continuation: under way once nothing is left to wait for.
 *
 * Throws 400 for an output that is not waited for or that is missing, 404, 409 `tool_call_settled`
 * and `session_busy`.
 */
export async function answer(ctx: Ctx, request: AskedResponse): Promise<FollowedResponse> {
  const { principal, body, previous, input, asked, echo, requestId, key } = request;
  const { results, decisions, messages } = input;
  const pointer = (results[0] ?? decisions[0])?.pointer ?? "/input";
  if (previous === null)
    throw invalid(pointer, "needs previous_response_id, or the id of the item that it answers, or store: false");
  if (messages.length > 0)
    throw invalid("/input", "cannot hold messages beside the outputs of function calls: send them afterwards");
  if (asked.format !== null) throw invalid("/text/format", "is that of the response that is continued");
  const { response, sessionId } = previous;
  const settled = await settlePause(ctx, {
    principal,
    agentId: body.model,
    sessionId,
    requestId,
    key,
    callerOptions: (before) => continuedOptions(asked, echo, before),
    read: (pause, { approvals, calls }) => {
      if (pause.turnId !== response.turnId) throw new ApiError("tool_call_settled");
      const stray = results.find(({ result }) => !calls.some(({ toolCallId }) => toolCallId === result.toolCallId));
      if (stray !== undefined) throw invalid(`${stray.pointer}/call_id`, "is of no call that waits");
      return {
        results: calls.map((call) => resultOf(call, results)),
        decided: decisions.flatMap((decision) => {
          const approval = approvalOf(decision, approvals);
          return [{ approval, decision: { approved: decision.approved, reason: decision.reason } }];
        }),
      };
    },
  }).catch((error: unknown) => {
    // Nothing waits any more.
    const isGone = error instanceof ApiError && error.reason === "session_busy";
    throw isGone && response.turnStatus !== "waiting" ? new ApiError("tool_call_settled") : error;
  });
  const { turnId, assistantMessageId, continuation } = settled;
  const [state] = await logStates(ctx.sql, [continuation.id]);
  const attempt = state === undefined ? 1 : logAttemptOf(state);
  return {
    tenantId: principal.tenant.id,
    id: responseIdOf(continuation.id),
    log: { logId: continuation.id, turnId, assistantMessageId, attempt },
    waits: continuation.status === "waiting",
  };
}

function resultOf(call: ClientCallRow, results: AskedResponse["input"]["results"]) {
  const found = results.find(({ result }) => result.toolCallId === call.toolCallId);
  if (found === undefined)
    throw invalid("/input", `has no function_call_output for the call ${JSON.stringify(call.toolCallId)}`);
  return { call, result: found.result };
}

function approvalOf(
  { approvalId, pointer }: AskedResponse["input"]["decisions"][number],
  approvals: readonly ApprovalRow[],
): ApprovalRow {
  const found = approvals.find(({ id }) => id === approvalId);
  if (found === undefined) throw invalid(`${pointer}/approval_request_id`, "is of no approval that waits");
  return found;
}
