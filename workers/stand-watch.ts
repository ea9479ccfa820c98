import { URL } from "node:url";
import { Worker } from "node:worker_threads";
import type { Logger } from "../src/kernel/telemetry/log.ts";
import { beginToTell } from "../src/kernel/telemetry/told-work.ts";

/** What the watching thread is given. */
export interface StandWatched {
  readonly databaseUrl: string;
  readonly workerId: string;
  /** Two numbers: how often the event loop has come round, and the length of the id behind them. */
  readonly told: SharedArrayBuffer;
  /** The event loop stands when it has not come round for so long, in milliseconds. */
  readonly stoodMs: number;
  readonly logLevel: string;
}

/** What the thread says once the event loop goes on. */
export interface Stood {
  readonly turnId: string;
  readonly ms: number;
}

/** How often the event loop says that it comes round. */
const roundMs = 250;
/** A worker is noted as stopped by a turn when two thirds of the time have passed after which it is ended from outside. */
const notedPart = 2 / 3;

/** What is watched. */
interface StandWatchOptions {
  readonly databaseUrl: string;
  readonly workerId: string;
  /** A worker that says nothing for so long is ended from outside. */
  readonly frozenMs: number;
  readonly log: Logger;
  /** Called when the event loop goes on that stood in a turn for `frozenMs`: had there been another worker, the turn would have failed. */
  readonly onStood: (turnId: string) => void;
}

/**
 * Has a thread of its own watch the event loop of this process, because nothing else of the process runs while it stands in a
 * turn. The thread notes that turn in Postgres before the worker is ended from outside, so that the turn is not given to another worker, which
 * would stand as well (docs/workers.md, "Dead and frozen workers"). A process that the system has stopped stops the thread too,
 * and blames nobody. Returns what ends the watch.
 */
export function watchForStanding({ databaseUrl, workerId, frozenMs, log, onStood }: StandWatchOptions): () => void {
  const told = beginToTell();
  const rounds = new Int32Array(told, 0, 1);
  const data: StandWatched = { databaseUrl, workerId, told, stoodMs: frozenMs * notedPart, logLevel: log.level };
  const thread = new Worker(new URL("./stand-thread.ts", import.meta.url), { workerData: data });
  thread.unref();
  thread.on("message", ({ turnId, ms }: Stood) => {
    if (ms >= frozenMs) onStood(turnId);
  });
  thread.on("error", (error) => log.warn({ err: error }, "nothing watches whether this worker stands in a turn"));
  const timer = setInterval(() => Atomics.add(rounds, 0, 1), roundMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    void thread.terminate();
  };
}
