/** The thread that `stand-watch.ts` starts. What it needs for Postgres it loads when it needs it: mostly never. */
import { writeSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { toldWork } from "../src/kernel/telemetry/told-work.ts";
import type { StandWatched, Stood } from "./stand-watch.ts";

const { databaseUrl, workerId, told, stoodMs, logLevel } = workerData as StandWatched;
const rounds = new Int32Array(told, 0, 1);

/** How often this thread looks. */
const lookMs = 250;
/** When this thread itself came so late, the system has stopped the process, or starves it: nothing is known of the event loop then. */
const lateMs = 4 * lookMs;

let seen = Atomics.load(rounds, 0);
let movedAtMs = performance.now();
let lookedAtMs = movedAtMs;
/** The turn that was noted, and since when the event loop stands in it. */
let noted: { readonly turnId: string; readonly sinceMs: number } | null = null;
let writing: Promise<void> = Promise.resolve();

setInterval(() => {
  const nowMs = performance.now();
  const wasLate = nowMs - lookedAtMs > lateMs;
  lookedAtMs = nowMs;
  const round = Atomics.load(rounds, 0);
  if (round !== seen) goOn(nowMs);
  if (round !== seen || wasLate) movedAtMs = nowMs;
  seen = round;
  if (noted !== null || nowMs - movedAtMs < stoodMs) return;
  const { turnId } = toldWork(told);
  if (turnId === null) return;
  noted = { turnId, sinceMs: movedAtMs };
  write("note", turnId);
}, lookMs);

/** The event loop has come round. */
function goOn(nowMs: number): void {
  if (noted === null) return;
  const { turnId, sinceMs } = noted;
  noted = null;
  write("forget", turnId);
  parentPort?.postMessage({ turnId, ms: nowMs - sinceMs } satisfies Stood);
}

function write(what: "note" | "forget", turnId: string): void {
  writing = writing.then(() => writeNow(what, turnId));
}

async function writeNow(what: "note" | "forget", turnId: string): Promise<void> {
  const { createLogger } = await import("../src/kernel/telemetry/log.ts");
  // Straight to the output: what the process buffers is written by its event loop.
  const log = createLogger(logLevel as Parameters<typeof createLogger>[0], { write: (line) => writeSync(1, line) });
  if (what === "note") log.error({ workerId, turnId }, "the event loop of this worker stands in a turn");
  const { openDatabase } = await import("../src/kernel/database/client.ts");
  const { forgetStoppedWorker, noteStoppedWorker } = await import("../src/sessions/state/stopped-worker.ts");
  const sql = openDatabase({ url: databaseUrl, max: 1, applicationName: "parley-watch" });
  try {
    await (what === "note" ? noteStoppedWorker : forgetStoppedWorker)(sql, { turnId, workerId });
  } catch (error) {
    log.warn({ err: error, workerId, turnId }, "what the event loop stands in could not be noted");
  } finally {
    await sql.end({ timeout: 1 });
  }
}
