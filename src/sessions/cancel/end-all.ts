import type { Ctx } from "../../kernel/context.ts";
import type { Sql } from "../../kernel/database/client.ts";
import { tx } from "../../kernel/database/transaction.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { endIdleLog } from "../end/idle-log.ts";
import { endIdleTurn } from "../end/idle-turn.ts";
import { cancelChannel, requestCancelOfMany, type StoppingTurn, type TurnsToEnd } from "../state/cancel-request.ts";

/** How many turns were ended, by the state in which they were found; those in lines were queued. */
export type EndedTurns = { readonly [State in Exclude<StoppingTurn["status"], "enqueued">]: number };

/** How `endTurnsOf` goes about it. */
export interface EndingOptions {
  /** How long it may take; what is left out has no limit. */
  readonly endingMsMax?: number;
  readonly askingMsMax?: number;
  /** Where it ends the logs of what it ended; left out: their readers find it in Postgres, a second later. */
  readonly logs?: Pick<Ctx, "relay" | "log"> | undefined;
}

/** One statement asks at most this many turns to stop. */
const stepRows = 500;
/** So many turns that no worker has are ended at the same time. */
const endedAtOnce = 2;

/**
 * Cancels everything of a tenant that is queued, running or waiting for a person (only what
 * matches all that `only` has), in bounded steps, the lines of sessions first, so that
 * nothing of them starts meanwhile: what no worker has ends here, what runs
 * is asked to stop. What is accepted meanwhile is left. Returns how much it was.
 *
 * After `endingMsMax`, turns that no worker has are only asked to stop, so that none of them
 * runs any more, and the reaper ends them. After `askingMsMax`, the rest is left for another
 * call; the step that is under way is finished, so that each call gets on.
 */
export async function endTurnsOf(
  sql: Sql,
  tenantId: IdOf<"tenant">,
  only: TurnsToEnd,
  { endingMsMax = Number.POSITIVE_INFINITY, askingMsMax = Number.POSITIVE_INFINITY, logs }: EndingOptions = {},
): Promise<EndedTurns> {
  const ended = { queued: 0, running: 0, waiting: 0 };
  const endsUntil = Date.now() + endingMsMax;
  const asksUntil = Date.now() + askingMsMax;
  const [begun] = await sql<{ now: Date }[]>`select /* tenant.clock */ clock_timestamp() as now`;
  const all = { tenantId, only, acceptedUntil: begun?.now ?? new Date() };
  for (const pass of passesFor(only.status)) {
    for (;;) {
      // In a transaction of its own, which is repeated when it meets another one that locks them in another order.
      const turns = await tx(sql, (inner) => requestCancelOfMany(inner, { ...all, ...pass }, cancelChannel));
      if (turns.length === 0) break;
      for (const { status } of turns) ended[status === "enqueued" ? "queued" : status] += 1;
      const idle = turns.filter(({ status }) => status !== "running");
      const ends = Array.from({ length: endedAtOnce }, (_, place) => endEach(sql, idle, { place, endsUntil, logs }));
      await Promise.all(ends);
      if (Date.now() >= asksUntil) return ended;
    }
  }
  return ended;
}

/**
 * Returns the passes over the turns in a state, or over all that are unfinished. What is in a
 * line is waited for, in the order in which others lock it: whoever moves it now starts it,
 * and does so shortly. Of the others, those are left at first that somebody moves just then;
 * they are waited for at last, one at a time, so that no two of their locks are held together.
 */
function passesFor(status: TurnsToEnd["status"]) {
  const statuses = status ?? "active";
  const others = [
    { statuses, waits: false, limit: stepRows },
    { statuses, waits: true, limit: 1 },
  ] as const;
  const hasLine = status === undefined || status === "queued";
  return hasLine ? [{ statuses: "enqueued", waits: true, limit: stepRows } as const, ...others] : others;
}

/** Ends every `endedAtOnce`-th turn from a place on. One that a worker's reaper ends first is ended as well. */
async function endEach(
  sql: Sql,
  turns: readonly StoppingTurn[],
  {
    place: first,
    endsUntil,
    logs,
  }: { readonly place: number; readonly endsUntil: number } & Pick<EndingOptions, "logs">,
): Promise<void> {
  for (let place = first; place < turns.length && Date.now() < endsUntil; place += endedAtOnce) {
    const { id: turnId, attempt } = turns[place] as StoppingTurn;
    const statuses = ["enqueued", "queued", "waiting"] as const;
    const log = await endIdleTurn(sql, { turnId, attempt, statuses }, { why: "canceled" });
    if (logs !== undefined && log !== null) endIdleLog({ sql, ...logs }, log);
  }
}
