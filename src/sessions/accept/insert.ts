import { openSums } from "../../budgets/accept.ts";
import { Batcher, batcherFor } from "../../kernel/async/batcher.ts";
import { sleep } from "../../kernel/async/wait.ts";
import type { AnySql, Sql } from "../../kernel/database/client.ts";
import { isTransient, isUnavailable, violatedConstraint } from "../../kernel/database/failure.ts";
import { ApiError } from "../../kernel/errors.ts";
import {
  acceptGroupCharsMax,
  acceptGroupMax,
  acceptPatienceMs,
  databaseWaitMs,
  groupPauseMs,
} from "../../kernel/limits.ts";
import { insertTurns } from "./accept-statement.ts";
import type { AcceptWord } from "./refusal.ts";
import { type OfferedTurn, offerTurn, takeTurn } from "./take.ts";
import { charsOf, type NewTurn } from "./turn-row.ts";

const insertsOf = () =>
  batcherFor(
    (sql: Sql) =>
      new Batcher<NewTurn, AcceptWord>((turns) => insertGroup(sql, turns), {
        countMax: acceptGroupMax,
        gathers: true,
        size: { of: charsOf, max: acceptGroupCharsMax },
        patienceMs: acceptPatienceMs,
        pauseMs: groupPauseMs,
      }),
  );
/** Turns of tenants with budgets are written apart, so that no other one pays for what is asked of them. */
const inserts = { plain: insertsOf(), budgeted: insertsOf() };

/**
 * Does what `insertTurn` does, outside a transaction, and repeats it when the connection breaks. Under load many turns share a statement: while
 * one runs, the turns that arrive are collected for the next. Because of its NOTIFY, a commit that adds a job waits for all
 * other such commits, so that only about 2,000 commits a second are possible, however many turns each of them writes.
 */
export async function insertTurnTogether(sql: Sql, turn: NewTurn): Promise<AcceptWord> {
  const offered = offerTurn(sql, turn);
  if (offered !== null) return insertTaking(sql, offered);
  const word = await inserts[turn.hasBudgets ? "budgeted" : "plain"](sql).add(turn);
  return isToTryAlone(word) ? insertAlone(sql, turn) : word;
}

/** Does the same for a turn that a worker of this process has a slot for: the statement claims it too. */
async function insertTaking(sql: Sql, offered: OfferedTurn): Promise<AcceptWord> {
  const { turn, slot } = offered;
  const word = await takeTurn(offered);
  if (word !== "unsure") return isToTryAlone(word) ? insertAlone(sql, turn) : word;
  try {
    const tried = await insertAlone(sql, turn, { isUnsure: true });
    if (tried === "accepted") slot.claimAgain();
    else slot.leave(true);
    return tried;
  } catch (error) {
    slot.leave(true);
    throw error;
  }
}

function isToTryAlone(word: AcceptWord): boolean {
  return word === "locked" || word === "unopened" || word === "stale";
}

function insertAlone(sql: Sql, turn: NewTurn, { isUnsure = false } = {}): Promise<AcceptWord> {
  return untilSure(sql, turn.turnId, () => insertTurn(sql, turn), { written: "accepted", isUnsure });
}

async function insertGroup(sql: Sql, turns: readonly NewTurn[]): Promise<AcceptWord[]> {
  const [first] = turns;
  if (first !== undefined && turns.length === 1) return [await insertAlone(sql, first)];
  try {
    const words = new Map((await insertTurns(sql, turns, "skip")).map(({ turnId, word }) => [turnId, word]));
    // Another turn of the session was written meanwhile.
    return turns.map(({ turnId }) => words.get(turnId) ?? "busy");
  } catch (error) {
    // A database that did not respond in time will not respond to single inserts either.
    if (isUnavailable(error) && !isTransient(error)) throw error;
    return turns.map(() => "locked");
  }
}

/**
 * Writes the session (if it is new), the turn and its job in one statement, and returns the word for what became of it. A
 * turn whose tenant has parked turns, or a limit of running turns, is parked, without a job. In a transaction, `busy` and `repeated` end that.
 */
export async function insertTurn(sql: AnySql, turn: NewTurn): Promise<AcceptWord> {
  try {
    const word = await insertOne(sql, turn);
    if (word !== "unopened") return word;
    await openSums(sql, turn);
    return await insertOne(sql, turn);
  } catch (error) {
    // The unique indexes decide, however many processes race.
    const constraint = violatedConstraint(error);
    if (constraint === "turns_one_active") return "busy";
    if (constraint === "idempotency_keys_pkey") return "repeated";
    throw error;
  }
}

/** A turn whose session grew while its statement waited is tried again so often; then the session is busy. */
const staleTriesMax = 5;

async function insertOne(sql: AnySql, turn: NewTurn): Promise<AcceptWord> {
  for (let tries = 0; tries < staleTriesMax; tries++) {
    const [written] = await insertTurns(sql, [turn], "wait");
    if (written?.word !== "stale") return written?.word ?? "busy";
  }
  return "busy";
}

/** Pause between attempts when the connection breaks during an insert. */
const retryPauseMs = 100;

/**
 * Runs what writes a turn. When the connection breaks it is unknown whether that was committed, so it is run again. If it was,
 * the second insert of the same id is refused, or whatever else refuses it by then, and that is a success: `written` is returned.
 * `isUnsure`: it broke already.
 */
async function untilSure<T>(
  sql: Sql,
  turnId: string,
  write: () => Promise<T>,
  { written, isUnsure: wasUnsure }: { readonly written: T; readonly isUnsure: boolean },
): Promise<T> {
  const expiresAt = Date.now() + databaseWaitMs;
  for (let isUnsure = wasUnsure; ; isUnsure = true) {
    try {
      const result = await write();
      return isUnsure && result !== written && (await isWritten(sql, turnId)) ? written : result;
    } catch (error) {
      const constraint = violatedConstraint(error);
      if (constraint === "turns_pkey" || constraint === "sessions_pkey") return written;
      if (isUnsure && error instanceof ApiError && (await isWritten(sql, turnId))) return written;
      if (!isTransient(error) || Date.now() + retryPauseMs > expiresAt) throw error;
      await sleep(retryPauseMs);
    }
  }
}

async function isWritten(sql: Sql, turnId: string): Promise<boolean> {
  return (await sql`select /* turn.is_written */ 1 from turns where id = ${turnId}`).length > 0;
}
