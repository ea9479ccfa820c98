import type { Ctx } from "../src/kernel/context.ts";
import type { Actor } from "../src/sessions/run/actor.ts";
import type { Dispatcher } from "../src/sessions/run/dispatch.ts";
import { cronItems } from "./crontab.ts";
import { Lanes } from "./lanes.ts";
import { Queue, type QueueOptions } from "./queue.ts";
import { taskLists } from "./tasks.ts";

/** Jobs beyond the slots for turns that run at once, so that a worker whose slots are full can still take a turn's job and park it. */
const spareHands = 32;
/** Turns that one statement fetches at most, or as many as there are slots: what waits in this process while its slots are full waits beside idle workers. */
const turnsFetchedAtOnceMax = 10;
/** Announced turns are claimed without their jobs (`Dispatcher`); the jobs that are left are asked for after so long. */
const turnsAfterMs = 50;
/** Connections for turns' jobs, one of which listens: fetching and completing jobs is batched, so few are plenty. */
const turnConnectionsMax = 4;
/** The same for every other kind of job. */
const otherConnectionsMax = 3;
/** Other jobs are asked for at most so often when jobs are announced, because most of those are turns. */
const otherRestMs = 50;
/** The same for every other kind of job. None of them waits here: one that finds no slot is parked. */
const othersFetchedAtOnce = 25;

/** What the queues are for. */
interface QueuedBy {
  readonly actor: Actor;
  readonly dispatcher: Dispatcher;
  readonly databaseUrl: string;
}

/** What is not the same for both queues. */
type QueueSize = Pick<QueueOptions, "concurrency" | "fetchAtOnce" | "connectionsMax" | "bell">;

/** The queues of a worker process. */
export interface WorkerQueues {
  /** Fetches nothing more, gives back what has not begun, and resolves when all that runs has ended. Never rejects. */
  stop(): Promise<void>;
}

/**
 * Starts the two queues of a worker process: one for turns alone, one for every other
 * kind of job, so that neither waits for the other's. Throws when the database is not reachable.
 */
export async function startQueues(ctx: Ctx, { actor, dispatcher, databaseUrl }: QueuedBy): Promise<WorkerQueues> {
  const { sql, log } = ctx;
  const lanes = new Lanes(sql, log);
  const lists = taskLists({ ctx, workerId: actor.workerId, dispatcher, lanes });
  const names = { turns: [] as readonly string[], others: [] as readonly string[] };
  const start = (which: "turns" | "others", more: QueueSize) =>
    Queue.start({
      database: { databaseUrl, applicationName: actor.applicationName },
      taskList: lists[which],
      cronItems: which === "turns" ? [] : cronItems,
      sql,
      log,
      onNames: (own) => {
        names[which] = own;
        actor.nameInQueue([...names.turns, ...names.others]);
      },
      ...more,
    });
  const workers = () => actor.workersListening;
  const others = await start("others", {
    concurrency: Lanes.hands,
    fetchAtOnce: othersFetchedAtOnce,
    connectionsMax: otherConnectionsMax,
    bell: { askers: workers, mayAsk: () => true, restMs: otherRestMs, afterMs: 0 },
  }).catch((error) => {
    lanes.stop();
    throw error;
  });
  lanes.onCalled = (count) => others.nudge(count);
  const stopOthers = () => {
    lanes.stop();
    return others.stop();
  };
  const slots = ctx.config.workerConcurrency;
  const turns = await start("turns", {
    concurrency: slots + spareHands,
    fetchAtOnce: Math.min(turnsFetchedAtOnceMax, slots),
    connectionsMax: turnConnectionsMax,
    // When no worker has room, whoever takes a turn's job parks it.
    bell: {
      askers: () => actor.listenersWithRoom || actor.workersListening,
      mayAsk: () => actor.hasRoom || actor.workersWithRoom === 0,
      restMs: 0,
      afterMs: turnsAfterMs,
    },
  }).catch(async (error) => {
    await stopOthers();
    throw error;
  });
  actor.onListens = (listens) => {
    for (const queue of [turns, others]) queue.listen(listens);
  };
  actor.onListens(actor.listens);
  return { stop: async () => void (await Promise.all([turns.stop(), stopOthers()])) };
}
