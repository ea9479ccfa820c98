import { EventEmitter } from "node:events";
import {
  type ParsedCronItem,
  Logger as QueueLogger,
  type Runner,
  run,
  type TaskList,
  type WorkerEvents,
} from "graphile-worker";
import type { Pool } from "pg";
import { sleep } from "../src/kernel/async/wait.ts";
import type { Sql } from "../src/kernel/database/client.ts";
import { databaseWaitMs } from "../src/kernel/limits.ts";
import type { Logger } from "../src/kernel/telemetry/log.ts";

/** What running the queue's jobs needs. */
export interface QueueOptions {
  readonly taskList: TaskList;
  /** Jobs at once. */
  readonly concurrency: number;
  /** Jobs that one statement fetches at most. */
  readonly fetchAtOnce: number;
  /** Where its connections come from (`openQueueConnections`); several queues may share them. */
  readonly connections: Pool;
  /** Jobs that are added by the clock. */
  readonly cronItems: readonly ParsedCronItem[];
  readonly sql: Sql;
  readonly log: Logger;
  /** Called with the names under which the queue locks this process's jobs, before it locks any. */
  readonly onNames: (names: readonly string[]) => void;
}

/** The channel on which the queue announces jobs. */
export const jobsChannel = "jobs:insert";
/** Stands in an announcement of jobs that went back to the queue. */
export const returnedMark = '"returned"';

/** Jobs that are done are collected for this long and removed from the queue together; nothing waits for their removal. */
const completeBatchMs = 5;
/** How often the queue asks for jobs, in case a notification was missed. */
const pollMs = 1_000;
/** A fetched job waits in this process for so long at most, then it goes back to the queue. */
const fetchedJobMs = 500;
/** Jobs that go back to the queue have arrived there after this time. */
const returnMs = 50;
/** How often this process searches for jobs that are locked in its name without its knowledge. */
const lostJobsEveryMs = 2_000;
/** A job that was locked longer ago than this has reached the process that locked it, if it ever will. */
const fetchMs = 2_000;
/** Pause before a queue that ended by itself is started again, and between tries while Postgres is away. */
const restartPauseMs = 250;

/** One start of graphile-worker, under a name of its own. */
interface Started {
  name: string;
  runner: Runner | null;
  /** Asks for jobs. */
  nudge: (count: number) => void;
  endedAtMs: number | null;
  /** Numbers of the jobs that it has fetched and not done with. */
  readonly held: Set<string>;
}

/**
 * Runs the queue's jobs as long as the process lives. graphile-worker by itself
 * stops for good when it cannot tell Postgres that a job is done, and a job whose
 * lock was committed while the response got lost stays locked for hours. So a queue
 * that ends by itself is replaced by a new one, while the old one finishes what it
 * runs, and jobs that are locked in this process's name without its knowledge go
 * back to the queue.
 */
export class Queue {
  readonly #options: QueueOptions;
  readonly #pools = new Set<Started>();
  readonly #scans: ReturnType<typeof setInterval>;
  /** Queues that are being started again. */
  readonly #starting = new Set<Promise<void>>();
  #stopping = false;
  #scanning = false;
  /** Numbers of the jobs that the last scan found without an owner. */
  #suspects: ReadonlySet<string> = new Set();

  private constructor(options: QueueOptions) {
    this.#options = options;
    this.#scans = setInterval(() => void this.#returnLost(), lostJobsEveryMs);
  }

  /** Starts to run jobs. Throws when the database is not reachable. */
  static async start(options: QueueOptions): Promise<Queue> {
    const queue = new Queue(options);
    try {
      await queue.#run();
    } catch (error) {
      clearInterval(queue.#scans);
      throw error;
    }
    return queue;
  }

  /** Fetches what is due now: announced jobs are heard by whoever has this queue. */
  nudge(count: number): void {
    for (const { nudge } of this.#pools) nudge(count);
  }

  /** Fetches nothing more, gives back what has not begun, and resolves when all that runs has ended. Never rejects. */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearInterval(this.#scans);
    await Promise.all([...this.#pools].map(({ runner }) => runner?.stop().catch((error) => this.#note(error))));
    // One that is just being started stops itself as soon as it can.
    await Promise.all(this.#starting);
    await Promise.all([...this.#pools].map(({ runner }) => runner?.promise.catch((error) => this.#note(error))));
  }

  #note(error: unknown): void {
    this.#options.log.debug({ err: error }, "a queue did not stop cleanly");
  }

  async #run(): Promise<void> {
    const { connections, taskList, concurrency, fetchAtOnce, cronItems, log } = this.#options;
    const pool: Started = { name: "", runner: null, nudge: () => {}, endedAtMs: null, held: new Set() };
    pool.runner = await run({
      pgPool: connections,
      taskList,
      parsedCronItems: [...cronItems],
      noHandleSignals: true,
      logger: queueLogger(log),
      events: this.#listen(pool),
      preset: {
        worker: {
          concurrentJobs: concurrency,
          pollInterval: pollMs,
          localQueue: { size: fetchAtOnce, ttl: fetchedJobMs },
          completeJobBatchDelay: completeBatchMs,
        },
      },
    });
    void pool.runner.promise
      .catch((error) => this.#note(error))
      .finally(() => {
        pool.endedAtMs = Date.now();
        pool.held.clear();
      });
    if (this.#stopping) await pool.runner.stop().catch((error) => this.#note(error));
  }

  #listen(pool: Started): WorkerEvents {
    const events = new EventEmitter() as WorkerEvents;
    events.on("pool:create", ({ workerPool }) => {
      pool.name = workerPool.id;
      pool.nudge = (count) => workerPool.nudge(count);
      this.#pools.add(pool);
      this.#tellNames();
    });
    events.on("localQueue:getJobs:complete", ({ jobs }) => {
      for (const { id } of jobs) pool.held.add(String(id));
    });
    events.on("localQueue:returnJobs", ({ jobs }) => {
      for (const { id } of jobs) pool.held.delete(String(id));
      setTimeout(() => this.#announce(jobs.length), returnMs);
    });
    events.on("job:complete", ({ job }) => pool.held.delete(String(job.id)));
    events.on("pool:gracefulShutdown", () => {
      if (this.#stopping) return;
      const started = this.#startAgain().finally(() => this.#starting.delete(started));
      this.#starting.add(started);
    });
    return events;
  }

  /** Announces jobs that went back to the queue, which the queue itself does not do; a worker with room would only find them when it asks again. */
  #announce(count: number): void {
    const { sql } = this.#options;
    sql.notify(jobsChannel, JSON.stringify({ count, returned: true })).catch((error) => this.#note(error));
  }

  /** The names under which this process's jobs are locked. */
  get #names(): string[] {
    return [...this.#pools].map(({ name }) => name);
  }

  #tellNames(): void {
    this.#options.onNames(this.#names);
  }

  async #startAgain(): Promise<void> {
    const { log } = this.#options;
    log.warn("the queue ended by itself; it is started again");
    for (;;) {
      await sleep(restartPauseMs);
      if (this.#stopping) return;
      try {
        return await this.#run();
      } catch (error) {
        log.warn({ err: error }, "the queue cannot be started");
      }
    }
  }

  async #returnLost(): Promise<void> {
    if (this.#scanning) return;
    this.#scanning = true;
    try {
      await this.#findLost();
    } catch (error) {
      this.#options.log.debug({ err: error }, "the queue could not search for lost jobs");
    } finally {
      this.#scanning = false;
    }
  }

  /** Gives back the jobs that two scans in a row found without an owner, under new numbers (`forgetWorkers` says why). */
  async #findLost(): Promise<void> {
    const { sql, log } = this.#options;
    // A statement that an ended queue sent may still lock jobs, until its time limit in Postgres.
    const endedBeforeMs = Date.now() - databaseWaitMs;
    const ended = [...this.#pools].filter(({ endedAtMs }) => endedAtMs !== null && endedAtMs < endedBeforeMs);
    const locked = await sql<{ id: string; name: string }[]>`
      select id::text, locked_by as name from graphile_worker._private_jobs
      where locked_by = any(${this.#names})
        and locked_at < now() - ${fetchMs} * interval '1 millisecond'`;
    const lost = locked.map(({ id }) => id).filter((id) => ![...this.#pools].some(({ held }) => held.has(id)));
    const certain = lost.filter((id) => this.#suspects.has(id));
    this.#suspects = new Set(lost);
    if (certain.length > 0) {
      await sql`
        update /* job.hand_back */ graphile_worker._private_jobs set id = default, locked_by = null, locked_at = null,
          attempts = greatest(0, attempts - 1)
        where id = any(${certain}::bigint[]) and locked_by = any(${this.#names})`;
      log.warn({ jobs: certain.length }, "jobs whose fetching or ending went wrong were given back to the queue");
    }
    for (const pool of ended) if (!locked.some(({ name }) => name === pool.name)) this.#pools.delete(pool);
  }
}

/** Returns a logger for graphile-worker. Below warnings its lines are `trace`: a finished job is not worth a line at `info`. */
function queueLogger(parent: Logger): QueueLogger {
  const log = parent.child({ part: "queue" });
  return new QueueLogger((scope) => (level, message) => {
    // Jobs hold no connection of this pool while they run, so it may be smaller than their number; and what is fetched and not begun should be little.
    const expected = message.includes("having maxPoolSize") || message.startsWith("Your job batch size");
    if (level === "error") log.error(scope, message);
    else if (level === "warning" && !expected) log.warn(scope, message);
    else log.trace(scope, message);
  });
}
