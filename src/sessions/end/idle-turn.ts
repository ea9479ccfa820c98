import type { UIMessageChunk } from "ai";
import type { AnySql } from "../../kernel/database/client.ts";
import { noUsage, type TurnError, type TurnUsage } from "../state/turn-end.ts";
import { endTurn } from "./end.ts";
import type { Fence } from "./end-row.ts";
import { type IdleLog, idleLogOf } from "./idle-log.ts";
import { type EndCause, outcomeOf } from "./outcome.ts";
import { reachedAsStored, readStored } from "./reached.ts";

/** Why a turn ends that no worker has. */
export interface IdleEnd {
  readonly why: Extract<EndCause, "canceled" | "lost" | "discarded" | "refused">;
  /** Why it failed; left out for one that was canceled. */
  readonly error?: TurnError;
  /** What its last claim is estimated to have used; nothing when left out. */
  readonly usage?: TurnUsage;
  /** What its readers have; null, or left out: only what its completed steps said is known. */
  readonly shown?: readonly UIMessageChunk[] | null;
}

/**
 * Ends a turn that no worker has, by what is stored of it. What it has said and done is kept when it failed after a
 * completed step, and when the caller that cancelled it asked for that. Returns the log that ends with it (`endIdleLog`); null
 * when the turn has moved meanwhile.
 */
export async function endIdleTurn(
  sql: AnySql,
  fence: Fence,
  { shown = null, usage = noUsage, ...end }: IdleEnd,
): Promise<IdleLog | null> {
  const { turnId, attempt, statuses } = fence;
  const turn = await readStored(sql, turnId);
  if (turn === null) return null;
  const reached = await reachedAsStored(sql, turnId, turn, shown);
  const outcome = outcomeOf(turn, { ...end, usage, reached, keep: turn.keep });
  const log = await idleLogOf(sql, { ...turn, turnId, attempt }, outcome);
  const usageKnown = !statuses.includes("running");
  const relayEvents = log.events?.length ?? null;
  return (await endTurn(sql, fence, { ...outcome, usageKnown, relayEvents })) ? log : null;
}
