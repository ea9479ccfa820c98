import type { Sql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";
import { endLostTurn } from "./recover/reap.ts";
import { cancelChannel } from "./run/actor.ts";
import { requestCancelOfMany, type StoppingTurn } from "./state/turn.ts";

/** How many turns were ended, by the state in which they were found; those in lines were queued. */
export type EndedTurns = { readonly [State in Exclude<StoppingTurn["status"], "enqueued">]: number };

/** One statement asks at most this many turns to stop. */
const stepRows = 500;
/** So many turns that no worker has are ended at the same time. */
const endedAtOnce = 2;

/**
 * Cancels everything of a tenant (only of one agent, where one is given) that is queued,
 * running or waiting for a person, in bounded steps, the lines of sessions first, so that
 * nothing of them starts meanwhile: what no worker has ends here, what runs
 * is asked to stop. What is accepted meanwhile is left. Returns how much it was.
 */
export async function endTurnsOf(
  sql: Sql,
  tenantId: IdOf<"tenant">,
  agentId: IdOf<"agent"> | null,
): Promise<EndedTurns> {
  const ended = { queued: 0, running: 0, waiting: 0 };
  const [begun] = await sql<{ now: Date }[]>`select clock_timestamp() as now`;
  const found = { tenantId, agentId, acceptedUntil: begun?.now ?? new Date(), limit: stepRows };
  for (const enqueued of [true, false]) {
    for (;;) {
      const turns = await requestCancelOfMany(sql, { ...found, enqueued }, cancelChannel);
      if (turns.length === 0) break;
      for (const { status } of turns) ended[status === "enqueued" ? "queued" : status] += 1;
      const idle = turns.filter(({ status }) => status !== "running");
      await Promise.all(Array.from({ length: endedAtOnce }, (_, place) => endEach(sql, idle, place)));
    }
  }
  return ended;
}

/** Ends every `endedAtOnce`-th turn from a place on. One that a worker's reaper ends first is ended as well. */
async function endEach(sql: Sql, turns: readonly StoppingTurn[], first: number): Promise<void> {
  for (let place = first; place < turns.length; place += endedAtOnce) {
    const { id, attempt, continuationId } = turns[place] as StoppingTurn;
    const fence = { turnId: id, attempt, statuses: ["enqueued", "queued", "waiting"] as const };
    await endLostTurn(sql, fence, "canceled", continuationId !== null);
  }
}
