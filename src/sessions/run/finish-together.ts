import { Batcher, batcherFor } from "../../kernel/async/batcher.ts";
import type { Sql } from "../../kernel/database/client.ts";
import { isUnavailable } from "../../kernel/database/failure.ts";
import { endGroupCharsMax, endGroupMax, endPatienceMs } from "../../kernel/limits.ts";
import { type PlainEnd, plainFence } from "../state/end-together.ts";
import { finishTurn, finishTurns } from "./finish.ts";

/** Whether a claim was ended; null for one that has to be ended alone, which finds out why. */
type Ended = boolean | null;
const ends = batcherFor(
  (sql: Sql) =>
    new Batcher<PlainEnd, Ended>((group) => finishGroup(sql, group), {
      countMax: endGroupMax,
      gathers: true,
      size: { of: ({ outcome }) => JSON.stringify(outcome.messages).length, max: endGroupCharsMax },
      patienceMs: endPatienceMs,
    }),
);

/**
 * Does what `finishTurn` does for a plain claim, under load for several in one statement: while one
 * statement runs, the claims that end are collected for the next. Returns and throws the same as `finishTurn`.
 */
export async function finishTogether(sql: Sql, end: PlainEnd): Promise<boolean> {
  return (await ends(sql).add(end)) ?? finishAlone(sql, end);
}

function finishAlone(sql: Sql, { claim, outcome }: PlainEnd): Promise<boolean> {
  return finishTurn(sql, plainFence(claim), outcome);
}

async function finishGroup(sql: Sql, ends: readonly PlainEnd[]): Promise<Ended[]> {
  const [first] = ends;
  if (first !== undefined && ends.length === 1) return [await finishAlone(sql, first)];
  try {
    const ended = await finishTurns(sql, ends);
    return ends.map(({ claim }) => ended.has(claim.id) || null);
  } catch (error) {
    // A database that is away does not end a single one either; whether it ended these is found out by the next attempt.
    if (isUnavailable(error)) throw error;
    return ends.map(() => null);
  }
}
