import { waitAtMost } from "../src/kernel/async/wait.ts";
import type { Ctx } from "../src/kernel/context.ts";
import type { IdOf } from "../src/kernel/ids.ts";
import { workerFrozenMs } from "../src/kernel/limits.ts";
import { Actor } from "../src/sessions/run/actor.ts";
import { Dispatcher } from "../src/sessions/run/dispatch.ts";
import { runTurn } from "../src/sessions/run/run.ts";
import { startQueues } from "./queues.ts";
import { startReaping } from "./reaping.ts";
import { watchForStanding } from "./stand-watch.ts";

/** A running worker pool of this process. */
export interface WorkerPool {
  readonly id: IdOf<"worker">;
  /** Resolves when an operator has asked this worker to drain (`queue drain`) and it has finished what it ran. */
  readonly drained: Promise<void>;
  /** How many turns it runs just now. */
  turns(): number;
  /** Claims nothing new, finishes the steps that run for at most `limitMs`, hands back or ends the rest, and closes everything. */
  drain(limitMs: number): Promise<void>;
}

/** A stopped turn has this long to write its end before the process goes on without it. */
const stoppedTurnMs = 5_000;

/** What a worker pool needs beside its context. */
export interface WorkerPoolOptions {
  readonly databaseUrl: string;
  /** `workerFrozenMs` when left out. */
  readonly frozenMs?: number;
}

/** Starts this process's worker pool on the queue. Throws when the database is not reachable. */
export async function startWorkerPool(ctx: Ctx, options: WorkerPoolOptions): Promise<WorkerPool> {
  const slots = ctx.config.workerConcurrency;
  const actor = new Actor({ databaseUrl: options.databaseUrl, slots, pool: ctx.sql, log: ctx.log });
  const dispatcher = new Dispatcher(ctx, actor, (running) => runTurn(ctx, running));
  await actor.start();
  const queues = await startQueues(ctx, { actor, dispatcher, databaseUrl: options.databaseUrl });
  const frozenMs = options.frozenMs ?? workerFrozenMs;
  const stopReaping = startReaping(ctx, actor.workerId, frozenMs);
  const onStood = (turnId: string) => actor.stop(turnId, "stood");
  const { workerId } = actor;
  const stopWatching = watchForStanding({
    databaseUrl: options.databaseUrl,
    workerId,
    frozenMs,
    log: ctx.log,
    onStood,
  });
  const stop = async () => void (await Promise.all([queues.stop(), dispatcher.stop()]));
  const drained = Promise.withResolvers<void>();
  // Without a limit: no supervisor waits for this process to end, so no turn is cut off.
  actor.onDrainAsked = () => {
    ctx.log.info({ worker: actor.workerId, turns: actor.turns.length }, "draining: nothing new is taken");
    void stop().then(drained.resolve);
  };
  return {
    id: actor.workerId,
    drained: drained.promise,
    turns: () => actor.turns.length,
    drain: async (limitMs) => {
      // First of all: a scan of the reaper may take a while, and nothing new must be taken meanwhile.
      const stopped = stop();
      actor.handOver();
      await stopReaping();
      await waitAtMost(stopped, limitMs);
      for (const { turn } of actor.turns) actor.stop(turn.id, "drained");
      await waitAtMost(stopped, stoppedTurnMs);
      stopWatching();
      await actor.close();
    },
  };
}
