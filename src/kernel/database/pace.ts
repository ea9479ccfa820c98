import type { AnySql, Tx } from "./client.ts";
import { tx } from "./transaction.ts";

/** One statement of a deletion in bulk deletes at most this many rows, and about this many bytes or one row. */
export const eraseRowsMax = 1_000;
const eraseBytesMax = 16 * 1024 * 1024;
/** Rows found by one scan. Far more than one statement deletes, because every scan walks over what was deleted before it. */
const eraseScanRows = 20_000;
/** A job that deletes in bulk gives its slot back after this long, in milliseconds, and goes on in another job. */
const eraseJobMsMax = 5_000;

/** What a bulk deletion throws when its time is used up; what is deleted stays deleted. */
class TimeUsedUp extends Error {
  override readonly name = "TimeUsedUp";
}

/** How far a deletion in bulk may go in one job. */
export class Pace {
  readonly #endsAtMs: number;

  /** `jobMs`: the job's time; left out for a caller that is no job and goes on to the end. */
  constructor(jobMs = Number.POSITIVE_INFINITY) {
    this.#endsAtMs = performance.now() + jobMs;
  }

  /** Ends the job's part of the work when its time is used up; `paced` catches what this throws. */
  step(): void {
    if (performance.now() >= this.#endsAtMs) throw new TimeUsedUp("The deletion goes on in another job.");
  }
}

/**
 * Runs a job's deletion in bulk. When its time is used up, `goOn` adds a job that goes
 * on, so that one large deletion never holds a slot for long. `work` must be safe to repeat.
 */
export async function paced(work: (pace: Pace) => Promise<void>, goOn: () => Promise<void>): Promise<void> {
  try {
    await work(new Pace(eraseJobMsMax));
  } catch (error) {
    if (!(error instanceof TimeUsedUp)) throw error;
    await goOn();
  }
}

/** A row to be deleted, with its size. */
export interface SizedRow {
  readonly bytes: number;
}

/**
 * Deletes what `scan` finds, until it finds no more. `scan` returns at most as many rows
 * as it is asked for; `erase` is given as many of them as one statement may delete.
 */
export async function eraseInSteps<T extends SizedRow>(
  pace: Pace,
  scan: (rows: number) => Promise<readonly T[]>,
  erase: (rows: readonly T[]) => Promise<unknown>,
): Promise<void> {
  for (;;) {
    const found = await scan(eraseScanRows);
    for (const step of eraseStepsOf(found)) {
      pace.step();
      await erase(step);
    }
    if (found.length < eraseScanRows) return;
  }
}

/** A row to be deleted by its id. */
export interface SizedId extends SizedRow {
  readonly id: string;
}

/** Does what `eraseInSteps` does, with rows that `scan` finds by an index (`byIndex`). */
export function eraseByIndex<T extends SizedRow>(
  { sql, pace }: { readonly sql: AnySql; readonly pace: Pace },
  scan: (inner: Tx, rows: number) => Promise<readonly T[]>,
  erase: (rows: readonly T[]) => Promise<unknown>,
): Promise<void> {
  return eraseInSteps(pace, (rows) => byIndex(sql, (inner) => scan(inner, rows)), erase);
}

/** Returns the ids of rows, for `any(…)`. */
export function idsOf(rows: readonly SizedId[]): string[] {
  return rows.map(({ id }) => id);
}

/** Cuts rows into steps of at most `eraseRowsMax` rows and `eraseBytesMax` bytes; a larger row is a step by itself. */
function eraseStepsOf<T extends SizedRow>(rows: readonly T[]): T[][] {
  const steps: T[][] = [];
  let bytes = 0;
  for (const row of rows) {
    const step = steps.at(-1);
    bytes += row.bytes;
    if (step !== undefined && step.length < eraseRowsMax && bytes <= eraseBytesMax) {
      step.push(row);
      continue;
    }
    steps.push([row]);
    bytes = row.bytes;
  }
  return steps;
}

/**
 * Runs a statement that must not read a whole table. With many ids and stale statistics
 * the planner chooses to: that took 25 ms a batch on 100,000 sessions, growing with the
 * table, and 2 ms by the index.
 */
export function byIndex<T>(sql: AnySql, work: (inner: Tx) => Promise<T>): Promise<T> {
  return tx(sql, async (inner) => {
    await inner`set local enable_seqscan = off`;
    return work(inner);
  });
}
