import { loadAgentForTurn } from "../../agents/load.ts";
import { requireRunnable } from "../../agents/runnable.ts";
import { countTowardsBudgets } from "../../budgets/accept.ts";
import { requireRoom } from "../../kernel/admission/stored-bytes.ts";
import { turnGate } from "../../kernel/auth/gates.ts";
import { findTenant, type Tenant } from "../../kernel/auth/tenant.ts";
import type { Ctx } from "../../kernel/context.ts";
import { isUnavailable } from "../../kernel/database/failure.ts";
import { retryWhileUnavailable } from "../../kernel/database/retry.ts";
import { tx } from "../../kernel/database/transaction.ts";
import { ApiError } from "../../kernel/errors.ts";
import { isId } from "../../kernel/ids.ts";
import { passingMsMax, passingPauseMs, turnPatienceMs } from "../../kernel/limits.ts";
import { merchantGuard } from "../../merchant/guard.ts";
import { endUnclaimed } from "../cancel/cancel.ts";
import { type FirstInLine, firstInLine, ringLine, startMove } from "../state/line.ts";
import type { TurnError } from "../state/turn-end.ts";
import { queueOf } from "./queued-turns.ts";
import { findKeepSeq } from "./regenerate.ts";
import { countTowardsQuota } from "./write.ts";

/**
 * The job `session.next`: starts the first turn of a session's line, when no unfinished turn
 * holds it. It meets the gates that any other turn meets when it is accepted; one that is
 * refused ends with that error, and the next one is tried. Safe to repeat. An outage of the
 * database is waited out here: the queue tries a job five times only, and a few restarts in a
 * row would use them up.
 */
export function startNext(ctx: Ctx, sessionId: string): Promise<void> {
  return retryWhileUnavailable(() => startFirst(ctx, sessionId), { limitMs: turnPatienceMs, retryIf: isUnavailable });
}

async function startFirst(ctx: Ctx, sessionId: string): Promise<void> {
  for (;;) {
    const turn = await firstInLine(ctx.sql, sessionId);
    if (turn === null) return;
    if (turn.isCanceled) await endUnclaimed(ctx, turn.id, { why: "canceled" });
    else if ((await startOrEnd(ctx, turn)) === "later") return;
  }
}

/**
 * Starts a turn, or ends it with the error of the gate that refuses it. `later`: nobody waits
 * at a stream for a chat's answer, so what passes by itself is waited for. Throws when the
 * database is away.
 */
async function startOrEnd(ctx: Ctx, turn: FirstInLine): Promise<"done" | "later"> {
  try {
    await start(ctx, turn);
  } catch (error) {
    // Another process moved it; what holds the line now is looked at again.
    if (error instanceof LineMovedError) return "done";
    if (!(error instanceof ApiError) || isUnavailable(error) || error.reason === "service_unavailable") throw error;
    const { id: turnId, sessionId, tenantId, requestId, kind, acceptedAt } = turn;
    const isYoung = Date.now() - acceptedAt.getTime() < passingMsMax;
    if (kind === "chat" && error.reason === "merchant_eligibility_unavailable" && isYoung) {
      await ringLine(ctx.sql, sessionId, tenantId, new Date(Date.now() + passingPauseMs));
      return "later";
    }
    ctx.log.info({ requestId, turnId, sessionId, tenantId, reason: error.reason }, "a turn of a line was refused");
    const refusal: TurnError = { code: error.reason, message: error.message, ...budgetOf(error) };
    await endUnclaimed(ctx, turn.id, { why: "refused", error: refusal });
  }
  return "done";
}

/** A turn left the line, or another one came before it, while it was to be started. */
class LineMovedError extends Error {
  override readonly name = "LineMovedError";
}

async function start(ctx: Ctx, turn: FirstInLine): Promise<void> {
  const tenant = await findTenant(ctx.sql, turn.tenantId);
  if (tenant === null || turn.isDeleted) throw new ApiError("not_found");
  turnGate(tenant);
  await requireRoom(ctx.sql, tenant, 0);
  const agent = await loadAgentForTurn(ctx.sql, turn.tenantId, turn.agentId, turn.pinnedVersion);
  requireRunnable(agent, ctx.config.platformProvider !== null);
  await merchantGuard(ctx, tenant, turn.userId);
  await queue(ctx, turn, tenant, agent.version);
}

/** Returns the budget that refused a turn, as its error has it. */
function budgetOf({ details, headers }: ApiError): Pick<TurnError, "budget"> {
  const id = details?.budgetId;
  if (typeof id !== "string" || !isId("budget", id)) return {};
  const seconds = headers["Retry-After"];
  const resetsAt = seconds === undefined ? null : new Date(Date.now() + Number(seconds) * 1000).toISOString();
  return { budget: { id, resetsAt } };
}

function queue(ctx: Ctx, turn: FirstInLine, tenant: Tenant, agentVersion: number): Promise<void> {
  const { sessionId, regenerates, input } = turn;
  return tx(ctx.sql, async (inner) => {
    // The quota's row before the session's, as when a turn is accepted.
    if (tenant.quotaTurnsPerDay !== null) await countTowardsQuota(inner, tenant.id, tenant.quotaTurnsPerDay);
    await inner`select /* session.lock */ 1 from sessions where id = ${sessionId} for no key update`;
    if (tenant.hasBudgets) await countTowardsBudgets(inner, turn);
    const body = {
      ...(regenerates === null ? {} : { messageId: regenerates }),
      ...(input === null ? {} : { message: input as { id: string; role: "user"; parts: unknown[] } }),
    };
    const keepSeq = turn.trigger === "regenerate-message" ? await findKeepSeq(inner, { sessionId }, body) : null;
    const { isCounted } = queueOf(tenant);
    if (!(await startMove(inner, { turnId: turn.id, agentVersion, keepSeq, isCounted })))
      throw new LineMovedError(`The turn ${turn.id} was moved.`);
  });
}
