import { recordAudit } from "../kernel/audit/record.ts";
import type { Principal } from "../kernel/auth/authenticator.ts";
import type { Ctx } from "../kernel/context.ts";
import type { Tx } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import { type IdempotencyKey, keepTurn, keyOfDeleted, recallKey, waitForKey } from "../kernel/http/idempotency.ts";
import type { IdOf } from "../kernel/ids.ts";
import type { UiMessage } from "../messages/ui-message.ts";
import { type ApprovalRow, decisionOf } from "./approvals.ts";
import type { ClientCallRow } from "./client-calls.ts";
import { type Continuation, continuationById } from "./continuations.ts";
import { applySettled, type Pause } from "./pause.ts";
import type { TurnBody } from "./schema.ts";
import { readDecision, readResult } from "./settled-parts.ts";
import { decideMove, settleMove } from "./state/continuation.ts";
import { findSession } from "./state/store.ts";
import { answerOf } from "./state/turn-log.ts";

/** An assistant message that a client sends back. */
export interface SettlingRequest {
  readonly principal: Principal;
  readonly agentId: IdOf<"agent">;
  readonly sessionId: IdOf<"session">;
  readonly body: TurnBody;
  readonly requestId: string;
  readonly key: IdempotencyKey | null;
}

/** A pause of which a message has settled something. */
export interface SettledPause extends Pick<Pause, "turnId" | "assistantMessageId"> {
  readonly continuation: Continuation;
  /** The message with what is settled; null when it is gone already. */
  readonly message: UiMessage | null;
}

/** Returns whether a body is an assistant message that may settle a pause: the AI SDK's client sends one after `addToolApprovalResponse` or `addToolOutput`. */
export function isSettling({ message, trigger }: TurnBody): boolean {
  return message?.role === "assistant" && trigger !== "regenerate-message";
}

/**
 * Settles what an assistant message says of the session's pause: its parts in state
 * `approval-responded` are decisions, those of client tools in state `output-available` or
 * `output-error` results; all else of it is ignored. When nothing is left to wait for, the
 * continuation is queued. One transaction; the lock on the turn's row makes the second of two
 * requests at the same time see the first.
 *
 * A repeat under the same Idempotency-Key returns the pause as it is by then. Throws 400, 404, 409
 * `session_busy` when the message settles nothing, or no turn waits, and 422.
 */
export async function settleByMessage(ctx: Ctx, request: SettlingRequest): Promise<SettledPause> {
  const { principal, agentId, sessionId, body, key } = request;
  checkSettlingBody(body);
  if ((await findSession(ctx.sql, principal.tenant.id, agentId, sessionId)) === null) throw new ApiError("not_found");
  return tx(ctx.sql, async (inner) => {
    if (key !== null) {
      await waitForKey(inner, key);
      const known = await recallKey(inner, ctx.sealer, key);
      if (known !== null) return repeated(inner, known.turnId);
    }
    const pause = await waitingPause(inner, sessionId);
    if (pause === null) throw new ApiError("session_busy");
    const { id, parts } = body.message as UiMessage;
    if (id !== pause.assistantMessageId) throw invalid("/message/id", "is not the message that waits");
    await settleParts(inner, request, pause, parts);
    if (key !== null) await keepTurn(inner, key, pause.continuationId, null);
    return settledPause(inner, pause);
  });
}

function checkSettlingBody({ message, messageId, promptId, variables }: TurnBody): void {
  if (promptId !== undefined) throw invalid("/promptId", "and message exclude each other");
  if (variables !== undefined) throw invalid("/variables", "is allowed only with promptId");
  if (messageId !== undefined && messageId !== message?.id) throw invalid("/messageId", "is not the message's id");
}

/** Returns the session's turn that waits, locked; null when none does. */
async function waitingPause(inner: Tx, sessionId: string): Promise<Pause | null> {
  const [pause] = await inner<Pause[]>`
    select session_id, id as turn_id, continuation_id, assistant_message_id from turns
    where session_id = ${sessionId} and status = 'waiting' and cancel_requested_at is null
    for no key update`;
  return pause ?? null;
}

async function settleParts(
  inner: Tx,
  { principal, requestId }: SettlingRequest,
  pause: Pause,
  parts: readonly unknown[],
): Promise<void> {
  const { continuationId } = pause;
  const approvals = await inner<ApprovalRow[]>`
    select * from approvals where continuation_id = ${continuationId} and status = 'pending' order by created_at, id`;
  const calls = await inner<ClientCallRow[]>`
    select * from client_calls where continuation_id = ${continuationId} and status = 'pending' order by id`;
  const decided = approvals.flatMap((approval) => {
    const said = readDecision(parts, approval.id);
    return said === null ? [] : [{ approval, decision: { ...said, decidedBy: principal.actor, name: null } }];
  });
  const results = calls.flatMap((call) => {
    const result = readResult(parts, call);
    return result === null ? [] : [{ call, result }];
  });
  if (decided.length + results.length === 0) throw new ApiError("session_busy");
  const decisions: ApprovalRow[] = [];
  for (const { approval, decision } of decided) {
    decisions.push(...(await inner<ApprovalRow[]>`${decideMove(inner, approval.id, decision)}`));
    const changes = decision.reason === null ? ["status"] : ["status", "reason"];
    const by = { tenantId: principal.tenant.id, actor: principal.actor, action: "approval.decide" } as const;
    await recordAudit(inner, { ...by, resourceId: approval.id, requestId, changes });
  }
  for (const { call, result } of results) await settleMove(inner, call.id, "output" in result);
  await applySettled(inner, pause, {
    decisions: decisions.map(decisionOf),
    results: results.map(({ result }) => result),
  });
}

async function settledPause(inner: Tx, pause: Pause): Promise<SettledPause> {
  const { turnId, continuationId, assistantMessageId } = pause;
  const continuation = await continuationById(inner, continuationId);
  return { turnId, assistantMessageId, continuation, message: await answerOf(inner, turnId) };
}

/** Returns the pause that the first request under the key settled something of. Throws 422 when the key stands for something else. */
async function repeated(inner: Tx, keptId: string | null): Promise<SettledPause> {
  if (keptId === null || keptId.startsWith("turn_")) throw new ApiError("idempotency_key_reused");
  const [pause] = await inner<Pause[]>`
    select c.session_id, c.turn_id, c.id as continuation_id, t.assistant_message_id
    from continuations c join turns t on t.id = c.turn_id where c.id = ${keptId}`;
  if (pause === undefined) throw keyOfDeleted();
  return settledPause(inner, pause);
}
