import { waitAtMost } from "../src/kernel/async/wait.ts";
import type { Ctx } from "../src/kernel/context.ts";
import type { Sql } from "../src/kernel/database/client.ts";
import type { IdOf } from "../src/kernel/ids.ts";
import { workerFrozenMs } from "../src/kernel/limits.ts";
import { measureSlots } from "../src/kernel/telemetry/metrics.ts";
import { Dispatcher } from "../src/sessions/run/dispatch.ts";
import { LockConnection } from "../src/sessions/run/lock-connection.ts";
import { runTurn } from "../src/sessions/run/run.ts";
import { type RunningTurn, RunningTurns } from "../src/sessions/run/running-turns.ts";
import { cancelChannel } from "../src/sessions/state/cancel-request.ts";
import { parkedChannel } from "../src/sessions/state/parked.ts";
import { queuedChannel, readAnnouncement } from "../src/sessions/state/turn-job.ts";
import { type TurnTaker, takeTurnsOf } from "../src/sessions/state/turn-taker.ts";
import { DueSums } from "../src/usage/due-sums.ts";
import { FirstStatistics } from "./first-statistics.ts";
import { jobsChannel } from "./queue.ts";
import { WorkerQueues } from "./queues.ts";
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
  /** The pool of the HTTP tier of this process, whose turns this worker takes while they are accepted; that of `ctx` is another one. */
  readonly httpSql?: Sql;
}

/** Starts this process's worker pool on the queue. Throws when the database is not reachable. */
export async function startWorkerPool(ctx: Ctx, options: WorkerPoolOptions): Promise<WorkerPool> {
  const { databaseUrl, frozenMs = workerFrozenMs, httpSql = ctx.sql } = options;
  const { log, sql: pool } = ctx;
  const { workerConcurrency: slots, databasePoolUrl } = ctx.config;
  const isPooled = databasePoolUrl !== null;
  const drained = Promise.withResolvers<void>();
  const connection: LockConnection = new LockConnection({
    databaseUrl,
    slots,
    log,
    running: () => turns.state,
    onAnnounced: {
      [cancelChannel]: (turnId) => turns.stop(turnId, "canceled"),
      [parkedChannel]: (tenantId) => dispatcher.hear(tenantId),
      [queuedChannel]: (payload) => dispatcher.takeAnnounced(readAnnouncement(payload)),
      [jobsChannel]: (payload) => queues.hear(payload),
    },
    onListening: () => {
      dispatcher.hear(null);
      queues.look();
    },
    onParked: () => dispatcher.hear(null),
    onPaused: (paused) => dispatcher.pause(paused),
    onStopped: (turnId, reason) => turns.stop(turnId, reason),
    // Without a limit: no supervisor waits for this process to end, so no turn is cut off.
    onDrainAsked: () => {
      turns.handOver();
      log.info({ worker: connection.workerId, turns: turns.turns.length }, "draining: nothing new is taken");
      void stop().then(drained.resolve);
    },
  });
  const turns = new RunningTurns({ connection, slots, pool, isPooled, log });
  measureSlots(() => ({ used: turns.turns.length, slots }));
  const dueSums = new DueSums(ctx);
  const firstStatistics = new FirstStatistics(ctx);
  const run = (running: RunningTurn) =>
    runTurn(ctx, running).finally(() => {
      dueSums.noteTurn();
      firstStatistics.noteTurn();
    });
  const dispatcher = new Dispatcher({ ctx, connection, turns, run, onLeft: () => queues.hearOfTurn() });
  const queues: WorkerQueues = new WorkerQueues({ ctx, connection, turns, dispatcher, databaseUrl });
  const stop = async () => void (await Promise.all([queues.stop(), dispatcher.stop()]));
  await connection.start();
  await queues.start();
  const { workerId } = connection;
  const taker: TurnTaker = { connection, offer: (turn) => dispatcher.offer(turn) };
  // Through a pooler it takes two statements to lock and to claim.
  if (!isPooled) for (const sql of new Set([pool, httpSql])) takeTurnsOf(sql, taker);
  const stopReaping = startReaping({ ...ctx, sql: ctx.lookSql }, workerId, frozenMs);
  const onStood = (turnId: string) => turns.stop(turnId, "stood");
  const stopWatching = watchForStanding({ databaseUrl, workerId, frozenMs, log, onStood });
  return {
    id: workerId,
    drained: drained.promise,
    turns: () => turns.turns.length,
    drain: async (limitMs) => {
      // First of all: a scan of the reaper may take a while, and nothing new must be taken meanwhile.
      const stopped = stop();
      turns.handOver();
      await stopReaping();
      await waitAtMost(stopped, limitMs);
      for (const { turn } of turns.turns) turns.stop(turn.id, "drained");
      await waitAtMost(stopped, stoppedTurnMs);
      stopWatching();
      await connection.close();
    },
  };
}
