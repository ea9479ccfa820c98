import type { Pool } from "pg";
import type { Ctx } from "../src/kernel/context.ts";
import type { Dispatcher } from "../src/sessions/run/dispatch.ts";
import type { LockConnection } from "../src/sessions/run/lock-connection.ts";
import type { RunningTurns } from "../src/sessions/run/running-turns.ts";
import { Bell } from "./bell.ts";
import { cronItems } from "./crontab.ts";
import { Lanes } from "./lanes.ts";
import { Queue, type QueueOptions, returnedMark } from "./queue.ts";
import { openQueueConnections } from "./queue-connections.ts";
import { taskLists } from "./tasks.ts";

/** Jobs beyond the slots for turns that run at once, so that a worker whose slots are full can still take a turn's job and park it. */
const spareHands = 32;
/** Turns that one statement fetches at most, or as many as there are slots: what waits in this process while its slots are full waits beside idle workers. */
const turnsFetchedAtOnceMax = 10;
/** Announced turns are claimed without their jobs (`Dispatcher`); those that others have not claimed after so long are asked for. */
const turnsAfterMs = 50;
/** Other jobs are asked for at most so often when jobs are announced, because most of those are turns. */
const otherRestMs = 50;
/** The same for every other kind of job. None of them waits here: one that finds no slot is parked. */
const othersFetchedAtOnce = 25;

/** What the queues are for. */
interface QueuesOptions {
  readonly ctx: Ctx;
  readonly connection: LockConnection;
  readonly turns: RunningTurns;
  readonly dispatcher: Dispatcher;
  readonly databaseUrl: string;
}

type Which = "turns" | "others";

/**
 * The two queues of a worker process: one for turns alone, one for every other kind of job, so that neither waits
 * for the other's.
 */
export class WorkerQueues {
  readonly #options: QueuesOptions;
  readonly #connections: Pool;
  readonly #lanes: Lanes;
  readonly #bells: Readonly<Record<Which, Bell>>;
  readonly #queues: Partial<Record<Which, Queue>> = {};
  readonly #names: Record<Which, readonly string[]> = { turns: [], others: [] };

  constructor(options: QueuesOptions) {
    const { ctx, connection, databaseUrl } = options;
    this.#options = options;
    const { databasePoolUrl, pools } = ctx.config;
    const database = { databaseUrl, databasePoolUrl, applicationName: connection.applicationName };
    this.#connections = openQueueConnections(database, pools.queue, ctx.log);
    this.#lanes = new Lanes({ sql: ctx.lookSql, log: ctx.log, onCalled: (count) => this.#queues.others?.nudge(count) });
    const peers = () => connection.peers;
    this.#bells = {
      others: new Bell({
        ask: (count) => this.#queues.others?.nudge(count),
        askers: () => peers().listening,
        mayAsk: () => true,
        restMs: otherRestMs,
        afterMs: 0,
      }),
      turns: new Bell({
        ask: (count) => this.#queues.turns?.nudge(count),
        askers: () => peers().listeningWithRoom || peers().listening,
        // When no worker has room, whoever takes a turn's job parks it.
        mayAsk: () => options.turns.hasRoom || peers().withRoom === 0,
        restMs: 0,
        afterMs: turnsAfterMs,
      }),
    };
  }

  /** Starts to run jobs. Throws when the database is not reachable. */
  async start(): Promise<void> {
    const slots = this.#options.ctx.config.workerConcurrency;
    try {
      await this.#start("others", {
        concurrency: Lanes.hands,
        fetchAtOnce: othersFetchedAtOnce,
      });
      await this.#start("turns", {
        concurrency: slots + spareHands,
        fetchAtOnce: Math.min(turnsFetchedAtOnceMax, slots),
      });
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async #start(which: Which, size: Pick<QueueOptions, "concurrency" | "fetchAtOnce">) {
    const { ctx, connection, dispatcher } = this.#options;
    const lists = taskLists({ ctx, workerId: connection.workerId, dispatcher, lanes: this.#lanes });
    this.#queues[which] = await Queue.start({
      connections: this.#connections,
      taskList: lists[which],
      cronItems: which === "turns" ? [] : cronItems,
      sql: ctx.lookSql,
      log: ctx.log,
      onNames: (own) => {
        this.#names[which] = own;
        connection.nameInQueue([...this.#names.turns, ...this.#names.others]);
      },
      ...size,
    });
  }

  /** Hears that jobs were announced: the payload is the queue's. Those of new turns are announced by themselves too. */
  hear(payload: string): void {
    const count = Number(/"count"\s*:\s*(\d+)/.exec(payload)?.[1] ?? 1);
    if (count === 0 || !this.#options.connection.listens) return;
    this.#bells.others.ring(count);
    if (payload.includes(returnedMark)) this.#bells.turns.ring(count);
  }

  /** Hears that a turn was announced and that this worker has not claimed it. */
  hearOfTurn(): void {
    this.#bells.turns.ring(1);
  }

  /** Looks for jobs that were announced while nothing was heard. */
  look(): void {
    for (const queue of Object.values(this.#queues)) queue.nudge(1);
  }

  /** Fetches nothing more, gives back what has not begun, and resolves when all that runs has ended. Never rejects. */
  async stop(): Promise<void> {
    this.#lanes.stop();
    for (const bell of Object.values(this.#bells)) bell.stop();
    await Promise.all(Object.values(this.#queues).map((queue) => queue.stop()));
    await this.#connections
      .end()
      .catch((error) => this.#options.ctx.log.debug({ err: error }, "the queue's connections"));
  }
}
