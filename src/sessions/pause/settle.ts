import { recordAudit } from "../../kernel/audit/record.ts";
import type { Principal } from "../../kernel/auth/authenticator.ts";
import { requireAbility } from "../../kernel/auth/client-scope.ts";
import { requireStanding } from "../../kernel/auth/standing.ts";
import type { Ctx } from "../../kernel/context.ts";
import { json, type Tx } from "../../kernel/database/client.ts";
import { tx } from "../../kernel/database/transaction.ts";
import { ApiError, invalid } from "../../kernel/errors.ts";
import {
  type IdempotencyKey,
  keepContinuation,
  keyOfDeleted,
  recallKey,
  waitForKey,
} from "../../kernel/http/idempotency.ts";
import type { IdOf } from "../../kernel/ids.ts";
import type { CallResult } from "../../messages/tool-calls.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { TurnBody } from "../schema.ts";
import { sessionBusy } from "../state/busy.ts";
import type { CallerOptions } from "../state/caller-options.ts";
import { decideMove, settleMove } from "../state/continuation.ts";
import { findSession } from "../state/store.ts";
import { answerOf } from "../state/turn-log.ts";
import { type ApprovalRow, decisionEntry, decisionOf } from "./approvals.ts";
import type { ClientCallRow } from "./client-calls.ts";
import { type Continuation, continuationById } from "./continuations.ts";
import { applySettled, type Pause } from "./pause.ts";
import { readDecision, readResult } from "./settled-parts.ts";

/** An assistant message that a client sends back. */
export interface SettlingRequest {
  readonly principal: Principal;
  readonly agentId: IdOf<"agent">;
  readonly sessionId: IdOf<"session">;
  readonly body: TurnBody;
  readonly requestId: string;
  readonly key: IdempotencyKey | null;
}

/** What a request says of a pause, of approvals and calls that wait. */
interface SaidOfPause {
  readonly decided: readonly {
    readonly approval: ApprovalRow;
    readonly decision: { readonly approved: boolean; readonly reason: string | null };
  }[];
  readonly results: readonly { readonly call: ClientCallRow; readonly result: CallResult }[];
}

/** Settles something of the pause of one session. */
export interface PauseRequest extends Omit<SettlingRequest, "body"> {
  /** What the caller adds to the agent from here on; left out: what the turn was asked with. */
  readonly callerOptions?: ((asked: CallerOptions | null) => CallerOptions) | undefined;
  /** Returns what the request says of what waits. Throws 400 and 409. */
  read(
    pause: Pause,
    waiting: { readonly approvals: readonly ApprovalRow[]; readonly calls: readonly ClientCallRow[] },
  ): SaidOfPause;
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
  const { body } = request;
  checkSettlingBody(body);
  const { id, parts } = body.message as UiMessage;
  return settlePause(ctx, {
    ...request,
    read: (pause, { approvals, calls }) => {
      if (id !== pause.assistantMessageId) throw invalid("/message/id", "is not the message that waits");
      return {
        decided: approvals.flatMap((approval) => {
          const decision = readDecision(parts, approval.id);
          return decision === null ? [] : [{ approval, decision }];
        }),
        results: calls.flatMap((call) => {
          const result = readResult(parts, call);
          return result === null ? [] : [{ call, result }];
        }),
      };
    },
  });
}

/**
 * Settles what a request says of the session's pause, and queues the continuation when nothing is
 * left to wait for. A repeat under the same Idempotency-Key returns the pause as it is by then.
 * Throws what `read` throws, 403 for a client token that may not, 404, 409 `session_busy` when nothing is settled, or no turn waits, and 422.
 */
export async function settlePause(ctx: Ctx, request: PauseRequest): Promise<SettledPause> {
  const { principal, agentId, sessionId, key } = request;
  if ((await findSession(ctx.sql, principal.tenant.id, agentId, sessionId)) === null) throw new ApiError("not_found");
  return tx(ctx.sql, async (inner) => {
    await requireStanding(inner, principal, { role: "approver" });
    if (key !== null) {
      await waitForKey(inner, key);
      const known = await recallKey(inner, ctx.sealer, key);
      if (known !== null) return repeated(inner, known.turnId);
    }
    const pause = await waitingPause(inner, sessionId);
    if (pause === null) throw await sessionBusy(inner, sessionId);
    await keepOptions(inner, request, pause);
    await settleSaid(inner, request, pause);
    if (key !== null) await keepContinuation(inner, key, pause.continuationId);
    return settledPause(inner, pause);
  });
}

/** Notes with the continuation what the caller adds to the agent from here on. */
async function keepOptions(
  inner: Tx,
  { callerOptions }: PauseRequest,
  { continuationId, turnId }: Pause,
): Promise<void> {
  if (callerOptions === undefined) return;
  const [asked] = await inner<{ callerOptions: CallerOptions | null }[]>`
    select /* continuation.read_options */ coalesce(c.caller_options, (
      select e.caller_options from continuations e
      where e.turn_id = t.id and e.caller_options is not null order by e.created_at desc, e.id desc limit 1
    ), t.caller_options) as caller_options
    from turns t join continuations c on c.id = ${continuationId} where t.id = ${turnId}`;
  const next = json(inner, callerOptions(asked?.callerOptions ?? null));
  await inner`update /* continuation.set_options */ continuations set caller_options = ${next} where id = ${continuationId}`;
}

function checkSettlingBody({ message, messageId, promptId, variables }: TurnBody): void {
  if (promptId !== undefined) throw invalid("/promptId", "and message exclude each other");
  if (variables !== undefined) throw invalid("/variables", "is allowed only with promptId");
  if (messageId !== undefined && messageId !== message?.id) throw invalid("/messageId", "is not the message's id");
}

/** Returns the session's turn that waits, locked; null when none does. */
async function waitingPause(inner: Tx, sessionId: string): Promise<Pause | null> {
  const [pause] = await inner<Pause[]>`
    select /* pause.find */ session_id, id as turn_id, continuation_id, assistant_message_id from turns
    where session_id = ${sessionId} and status = 'waiting' and cancel_requested_at is null
    for no key update`;
  return pause ?? null;
}

async function settleSaid(inner: Tx, request: PauseRequest, pause: Pause): Promise<void> {
  const { principal, requestId } = request;
  const { continuationId } = pause;
  const approvals = await inner<ApprovalRow[]>`
    select /* approval.pending */ * from approvals where continuation_id = ${continuationId} and status = 'pending' order by created_at, id`;
  const calls = await inner<ClientCallRow[]>`
    select /* call.pending */ * from client_calls where continuation_id = ${continuationId} and status = 'pending' order by id`;
  const { decided, results } = request.read(pause, { approvals, calls });
  if (decided.length + results.length === 0) throw await sessionBusy(inner, request.sessionId);
  if (decided.length > 0) requireAbility(principal.client, "approvals");
  if (results.length > 0) requireAbility(principal.client, "clientTools");
  const decisions: ApprovalRow[] = [];
  for (const { approval, decision: said } of decided) {
    const decision = { ...said, decidedBy: principal.actor, name: null };
    decisions.push(...(await inner<ApprovalRow[]>`${decideMove(inner, approval.id, decision)}`));
    const by = { tenantId: principal.tenant.id, actor: principal.actor, action: "approval.decide" } as const;
    await recordAudit(inner, {
      ...by,
      resourceId: approval.id,
      agentId: request.agentId,
      requestId,
      ...decisionEntry(said),
    });
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
  return { turnId, assistantMessageId, continuation, message: (await answerOf(inner, turnId)).message };
}

/** Returns the pause that the first request under the key settled something of. Throws 422 when the key stands for something else. */
async function repeated(inner: Tx, keptId: string | null): Promise<SettledPause> {
  if (keptId === null || keptId.startsWith("turn_")) throw new ApiError("idempotency_key_reused");
  const [pause] = await inner<Pause[]>`
    select /* pause.of_continuation */ c.session_id, c.turn_id, c.id as continuation_id, t.assistant_message_id
    from continuations c join turns t on t.id = c.turn_id where c.id = ${keptId}`;
  if (pause === undefined) throw keyOfDeleted();
  return settledPause(inner, pause);
}
