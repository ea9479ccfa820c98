import { Batcher, batcherFor } from "../../kernel/async/batcher.ts";
import type { Sql } from "../../kernel/database/client.ts";
import { isUnavailable } from "../../kernel/database/failure.ts";
import { endGroupCharsMax, endGroupMax, endPatienceMs } from "../../kernel/limits.ts";
import { type PlainEnd, plainFence } from "../state/end-together.ts";
import { finishTurn, finishTurns } from "./finish.ts";

/** Whether a claim was ended; null for one that has to be ended otherwise, which finds out why. */
type Ended = boolean | null;
type FinishGroup = (sql: Sql, ends: readonly PlainEnd[]) => Promise<Ended[]>;

const batched = (finishGroup: FinishGroup) =>
  batcherFor(
    (sql: Sql) =>
      new Batcher<PlainEnd, Ended>((group) => finishGroup(sql, group), {
        countMax: endGroupMax,
        gathers: true,
        size: { of: ({ outcome }) => JSON.stringify(outcome.messages).length, max: endGroupCharsMax },
        patienceMs: endPatienceMs,
      }),
  );
const quietEnds = batched((sql, ends) => finishGroup(sql, ends, true));
const ends = batched((sql, all) => finishGroup(sql, all, false));

/**
 * Does what `finishTurn` does for a plain claim, under load for several in one statement: while one
 * statement runs, the claims that end are collected for the next. Returns and throws the same as `finishTurn`.
 *
 * Where the claim found nobody who is told of the end, it is tried without what tells them: of one client's turn that
 * took 0.3 ms, and 0.3 ms of the worker.
 */
export async function finishTogether(sql: Sql, end: PlainEnd): Promise<boolean> {
  const quiet = end.claim.isToldOf ? null : await quietEnds(sql).add(end);
  return quiet ?? (await ends(sql).add(end)) ?? finishAlone(sql, end, false);
}

function finishAlone(sql: Sql, { claim, outcome }: PlainEnd, isQuiet: boolean): Promise<boolean> {
  return finishTurn(sql, plainFence(claim, isQuiet), outcome);
}

async function finishGroup(sql: Sql, ends: readonly PlainEnd[], isQuiet: boolean): Promise<Ended[]> {
  const [first] = ends;
  // A quiet end that found nothing to end may have found somebody to tell.
  if (first !== undefined && ends.length === 1)
    return [(await finishAlone(sql, first, isQuiet)) || (isQuiet ? null : false)];
  try {
    const ended = await finishTurns(sql, ends, isQuiet);
    return ends.map(({ claim }) => ended.has(claim.id) || null);
  } catch (error) {
    // A database that is away does not end a single one either; whether it ended these is found out by the next attempt.
    if (isUnavailable(error)) throw error;
    return ends.map(() => null);
  }
}
