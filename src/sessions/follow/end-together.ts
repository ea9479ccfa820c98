import { Batcher, batcherFor } from "../../kernel/async/batcher.ts";
import type { Sql } from "../../kernel/database/client.ts";
import { type EndOfTurn, endOfTurn, endsOfTurns } from "../state/turn-log.ts";

/** One statement reads the ends of at most so many turns. */
const endsMax = 25;
/** The next statement waits for the one before it at most so long, in milliseconds. */
const endsPatienceMs = 20;
/** A message above so many bytes is read alone: those that are read with it would wait for it. */
const sharedBytesMax = 64 * 1024;

/** `alone`: its message is large. */
type Found = EndOfTurn | null | "alone";

const ends = batcherFor(
  (sql: Sql) =>
    new Batcher<string, Found>((turnIds) => readEnds(sql, turnIds), {
      countMax: endsMax,
      gathers: true,
      patienceMs: endsPatienceMs,
    }),
);

/**
 * Does what `endOfTurn` does, in one statement for the turns that are asked for at once: responses without a stream
 * are, as turns that end together end in one statement.
 */
export async function endOfTurnTogether(sql: Sql, turnId: string): Promise<EndOfTurn | null> {
  const found = await ends(sql).add(turnId);
  return found === "alone" ? endOfTurn(sql, turnId) : found;
}

async function readEnds(sql: Sql, turnIds: readonly string[]): Promise<Found[]> {
  const [first] = turnIds;
  if (first !== undefined && turnIds.length === 1) return [await endOfTurn(sql, first)];
  const rows = await endsOfTurns(sql, turnIds, sharedBytesMax);
  const byTurn = new Map(rows.map(({ turnId, isLarge, ...end }) => [turnId, isLarge ? ("alone" as const) : end]));
  return turnIds.map((turnId) => byTurn.get(turnId) ?? null);
}
