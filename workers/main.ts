import { EventEmitter } from "node:events";
import { Logger as QueueLogger, run, type WorkerEvents } from "graphile-worker";
import type { Ctx } from "../src/context.ts";
import { reapEveryMs } from "../src/limits.ts";
import { Actor } from "../src/sessions/actor.ts";
import { Reaper } from "../src/sessions/reap.ts";
import { taskList } from "./tasks.ts";

/** A running worker pool of this process. */
export interface WorkerPool {
  readonly id: string;
  /** Claims nothing new, finishes what runs for at most `limitMs`, hands back or ends the rest, and lets go of everything. */
  drain(limitMs: number): Promise<void>;
}

/** Connections of the queue's own pool: fetching and completing jobs is batched, so a few are plenty. */
const queueConnectionsMax = 6;
/** A stopped turn has this long to write its end before the process goes on without it. */
const stoppedTurnMs = 5_000;

/** Starts this process's worker pool on the queue. Throws when the database is not reachable. */
export async function startWorkerPool(ctx: Ctx, options: { databaseUrl: string }): Promise<WorkerPool> {
  const actor = new Actor(options.databaseUrl, ctx.log);
  await actor.start();
  const concurrency = ctx.config.workerConcurrency;
  const events: WorkerEvents = new EventEmitter() as WorkerEvents;
  let queueWorkerId = "";
  events.on("pool:create", ({ workerPool }) => {
    queueWorkerId = workerPool.id;
  });
  const runner = await run({
    connectionString: withName(options.databaseUrl, actor.applicationName),
    taskList: taskList({ ctx, actor }),
    noHandleSignals: true,
    logger: queueLogger(ctx),
    events,
    preset: {
      worker: {
        concurrentJobs: concurrency,
        maxPoolSize: queueConnectionsMax,
        pollInterval: 1_000,
        localQueue: { size: concurrency + 1, ttl: 5_000 },
        completeJobBatchDelay: 0,
      },
    },
  });
  await actor.nameInQueue(queueWorkerId);
  const stopReaping = startReaping(ctx);
  return {
    id: actor.workerId,
    drain: async (limitMs) => {
      await stopReaping();
      const stopped = runner.stop().catch((error) => ctx.log.warn({ err: error }, "the queue did not stop cleanly"));
      await settleOr(stopped, limitMs);
      for (const { turn } of actor.turns) actor.stop(turn.id, "drained");
      await settleOr(stopped, stoppedTurnMs);
      await actor.close();
    },
  };
}

/** Looks around every `reapEveryMs`, one look at a time. Answers a function that stops it. */
function startReaping(ctx: Ctx): () => Promise<void> {
  const reaper = new Reaper(ctx);
  let looking: Promise<void> | null = null;
  const timer = setInterval(() => {
    looking ??= reaper
      .look()
      .catch((error) => ctx.log.warn({ err: error }, "the reaper could not look around"))
      .finally(() => {
        looking = null;
      });
  }, reapEveryMs);
  return async () => {
    clearInterval(timer);
    await looking;
  };
}

async function settleOr(work: Promise<unknown>, limitMs: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}

/** The reaper finds a worker's connections by their name. */
function withName(databaseUrl: string, applicationName: string): string {
  const url = new URL(databaseUrl);
  url.searchParams.set("application_name", applicationName);
  return url.href;
}

/** The queue's log lines, one level down: a finished job is no news here. */
function queueLogger(ctx: Ctx): QueueLogger {
  const log = ctx.log.child({ part: "queue" });
  return new QueueLogger((scope) => (level, message) => {
    if (level === "error") log.error(scope, message);
    else if (level === "warning") log.warn(scope, message);
    else log.trace(scope, message);
  });
}
