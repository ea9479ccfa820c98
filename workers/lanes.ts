import type { Task } from "graphile-worker";
import { Batcher } from "../src/kernel/async/batcher.ts";
import type { Sql } from "../src/kernel/database/client.ts";
import { isJobName, type JobName, jobKind, jobNames } from "../src/kernel/queue/catalogue.ts";
import { type FetchedJob, parkDue, parkedKinds, parkFetched } from "../src/kernel/queue/parked-jobs.ts";
import type { Logger } from "../src/kernel/telemetry/log.ts";
import { Lane } from "./lane.ts";

/** How often a worker looks for jobs that other workers parked and it has slots for. */
const lookMs = 1_000;
/** Where this many jobs of a kind are parked together, more of them are due and are parked too, before they are fetched. */
const floodJobs = 8;
/** One statement parks this many fetched jobs at most. */
const parkedTogetherMax = 500;
/** Jobs of all kinds that are being parked at once, beside those that run. */
const spareHands = 16;

/** A job to park. */
interface Parking extends FetchedJob {
  readonly name: JobName;
  readonly tenantId: string;
}

/** What the lanes need of their process. */
interface LanesOptions {
  readonly sql: Sql;
  readonly log: Logger;
  /** Called when jobs are due that this process has slots for. */
  readonly onCalled: (count: number) => void;
}

/** The kinds of job that have lanes: all but turns, whose slots are a worker's own. */
export const laneNames = jobNames.filter((name) => name !== "turn");

/**
 * Runs each kind of job but turns in slots of its own, which tenants share (`Lane`), so that no kind and
 * no tenant holds up another (docs/workers.md, "Lanes"). A job without a slot is parked.
 */
export class Lanes {
  readonly #sql: Sql;
  readonly #log: Logger;
  readonly #lanes: ReadonlyMap<JobName, Lane>;
  readonly #looking: ReturnType<typeof setInterval>;
  #stopped = false;
  readonly #parking = new Batcher<Parking, undefined>((jobs) => this.#park(jobs), { countMax: parkedTogetherMax });

  constructor({ sql, log, onCalled }: LanesOptions) {
    this.#sql = sql;
    this.#log = log;
    this.#lanes = new Map(
      laneNames.map((name) => [name, new Lane({ name, atOnce: jobKind(name).atOnce, sql, onCalled })]),
    );
    this.#looking = setInterval(() => void this.#look(), lookMs);
  }

  /** How many jobs the queue may hand over at once. */
  static get hands(): number {
    return laneNames.reduce((sum, name) => sum + jobKind(name).atOnce, spareHands);
  }

  /** Returns the task that runs a job in a slot of its kind, or parks it. */
  inLane(name: JobName, task: Task): Task {
    const lane = this.#lanes.get(name);
    if (lane === undefined) return task;
    return async (payload, helpers) => {
      const tenantId = tenantOf(payload);
      const { id, locked_by: lockedBy } = helpers.job;
      if (!lane.enter(String(id), tenantId))
        return this.#parking.add({ id: String(id), lockedBy: lockedBy ?? "", name, tenantId });
      try {
        await task(payload, helpers);
      } finally {
        lane.leave(tenantId);
      }
    };
  }

  /** Calls nothing more. */
  stop(): void {
    this.#stopped = true;
    clearInterval(this.#looking);
    for (const lane of this.#lanes.values()) lane.stop();
  }

  /** Parks jobs that were fetched, and calls others where there are slots. Throws when Postgres is away; the queue then tries these jobs again. */
  async #park(jobs: readonly Parking[]): Promise<undefined[]> {
    await parkFetched(this.#sql, jobs);
    for (const [name, some] of Map.groupBy(jobs, (job) => job.name)) {
      if (some.length >= floodJobs) await this.#parkFlood(name, some).catch((error) => this.#note(error));
      const lane = this.#lanes.get(name);
      for (const { tenantId } of some) lane?.noteParked(tenantId);
      if (!this.#stopped) lane?.fillIfWaiting();
    }
    return [];
  }

  /** Parks what is due of the tenants that have most of these jobs, or of all where the kind has no slot left. */
  async #parkFlood(name: JobName, jobs: readonly Parking[]): Promise<void> {
    if (this.#lanes.get(name)?.isFull) {
      await parkDue(this.#sql, name, null);
      return;
    }
    for (const [tenantId, some] of Map.groupBy(jobs, (job) => job.tenantId))
      if (some.length >= floodJobs) await parkDue(this.#sql, name, tenantId);
  }

  async #look(): Promise<void> {
    try {
      const kinds = await parkedKinds(this.#sql);
      for (const name of kinds) if (isJobName(name) && !this.#stopped) this.#lanes.get(name)?.fill();
    } catch (error) {
      this.#note(error);
    }
  }

  #note(error: unknown): void {
    this.#log.debug({ err: error }, "the queue could not look for jobs that are or should be parked");
  }
}

/** A job's tenant; empty for one that concerns none. */
function tenantOf(payload: unknown): string {
  const { tenantId } = (payload ?? {}) as { readonly tenantId?: unknown };
  return typeof tenantId === "string" ? tenantId : "";
}
