import type { AnySql } from "../../kernel/database/client.ts";
import { finishTurn } from "../run/finish.ts";
import { eventsWithEnd, type IdleLog, idleLogOf } from "../run/idle-log.ts";
import { keepOf, storedKeptOutcome } from "../run/kept.ts";
import { storedLostOutcome, workerLost } from "../run/lost-outcome.ts";
import { canceledOutcome } from "../run/outcome.ts";
import type { Fence } from "../state/turn.ts";
import { noUsage, type TurnError, type TurnOutcome, type TurnUsage } from "../state/turn-end.ts";

/** A turn that was ended, and what its readers are told last. */
export interface EndedTurn {
  /** Null: it is another process's to end, and may be sealed. */
  readonly log: IdleLog | null;
  readonly lastChunk: unknown;
}

/** The turn to end. */
interface LostTurn extends Fence {
  readonly continuationId: string | null;
}

/**
 * Ends a turn that no worker has. What it is known to have said and done in completed steps is
 * kept when it failed; calls without a result are closed. `usage` is what the claim is estimated
 * to have used. Returns null when the turn has moved meanwhile.
 */
export async function endLostTurn(
  sql: AnySql,
  { continuationId, ...fence }: LostTurn,
  status: "failed" | "canceled",
  { error = workerLost, usage = noUsage }: { readonly error?: TurnError; readonly usage?: TurnUsage } = {},
): Promise<EndedTurn | null> {
  const { turnId, attempt } = fence;
  const usageKnown = !fence.statuses.includes("running");
  const log = usageKnown ? await idleLogOf(sql, { id: turnId, attempt, continuationId }) : null;
  const outcome = await lostOutcomeOf(sql, turnId, { status, isContinuation: continuationId !== null, error, usage });
  const relayEvents = log === null ? null : eventsWithEnd(log);
  const ended = await finishTurn(sql, fence, { ...outcome, usageKnown, relayEvents });
  return ended ? { log, lastChunk: outcome.lastChunk } : null;
}

interface LostOutcome {
  readonly status: "failed" | "canceled";
  readonly isContinuation: boolean;
  readonly error: TurnError;
  readonly usage: TurnUsage;
}

async function lostOutcomeOf(
  sql: AnySql,
  turnId: string,
  { status, isContinuation, error, usage }: LostOutcome,
): Promise<TurnOutcome> {
  if (status === "failed") return storedLostOutcome(sql, turnId, { error, usage });
  if ((await keepOf(sql, turnId)) === "partial") return storedKeptOutcome(sql, turnId, { usage });
  return canceledOutcome(sql, turnId, isContinuation, usage);
}
