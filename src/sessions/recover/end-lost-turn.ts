import type { AnySql } from "../../kernel/database/client.ts";
import { finishTurn } from "../run/finish.ts";
import { keepOf, storedKeptOutcome } from "../run/kept.ts";
import { storedLostOutcome, workerLost } from "../run/lost-outcome.ts";
import { canceledOutcome } from "../run/outcome.ts";
import type { Fence } from "../state/turn.ts";
import { noUsage, type TurnError, type TurnUsage } from "../state/turn-end.ts";

/**
 * Ends a turn that no worker has. What it is known to have said and done in completed steps is
 * kept when it failed; calls without a result are closed. `usage` is what the claim is estimated
 * to have used. Returns false when the turn has moved meanwhile.
 */
export async function endLostTurn(
  sql: AnySql,
  fence: Fence,
  status: "failed" | "canceled",
  isContinuation: boolean,
  { error = workerLost, usage = noUsage }: { readonly error?: TurnError; readonly usage?: TurnUsage } = {},
): Promise<boolean> {
  const usageKnown = !fence.statuses.includes("running");
  if (status === "canceled") {
    const keeps = (await keepOf(sql, fence.turnId)) === "partial";
    const outcome = keeps
      ? await storedKeptOutcome(sql, fence.turnId, { usage })
      : await canceledOutcome(sql, fence.turnId, isContinuation, usage);
    return finishTurn(sql, fence, { ...outcome, usageKnown });
  }
  return finishTurn(sql, fence, { ...(await storedLostOutcome(sql, fence.turnId, { error, usage })), usageKnown });
}
