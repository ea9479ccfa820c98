import { Gauge, Registry } from "prom-client";
import { within } from "../async/wait.ts";
import type { Sql } from "../database/client.ts";
import { scrapeTimeoutMs, workerDeadMs } from "../limits.ts";
import { isJobName, jobNames } from "./catalogue.ts";
import { countWorkers, readDepths, type TaskDepth } from "./depth.ts";
import { gaugeTenantTurns, readTenantTurns } from "./tenant-gauges.ts";
import { gaugeTenantTokens, readTenantTokens } from "./tenant-tokens.ts";

/**
 * What Postgres knows of the whole installation's queue, in Prometheus' text. It
 * is asked for at a scrape, once for all scrapes at a time, and given
 * `scrapeTimeoutMs`; when the database takes longer, only these gauges are left out.
 * Every process exports the same values, so take their maximum, not their sum.
 */
export class QueueGauges {
  readonly #sql: Sql;
  readonly #tellTenants: boolean;
  #asking: Promise<string> | null = null;

  /** With `tellTenants` some gauges have tenants' ids as labels. */
  constructor(sql: Sql, { tellTenants }: { readonly tellTenants: boolean }) {
    this.#sql = sql;
    this.#tellTenants = tellTenants;
  }

  /** Returns the text; empty when the database does not respond in time. Never rejects. */
  async text(): Promise<string> {
    this.#asking ??= ask(this.#sql, this.#tellTenants)
      .catch(() => "")
      .finally(() => {
        this.#asking = null;
      });
    return await within(this.#asking, scrapeTimeoutMs, () => "");
  }
}

async function ask(sql: Sql, tellTenants: boolean): Promise<string> {
  const [depths, workers, turns, tokens] = await Promise.all([
    readDepths(sql),
    countWorkers(sql, workerDeadMs),
    readTenantTurns(sql),
    tellTenants ? readTenantTokens(sql) : null,
  ]);
  const registry = new Registry();
  const gaugeOfTasks = (name: string, help: string) =>
    new Gauge({ name, help, labelNames: ["task"], registers: [registry] });
  const ready = gaugeOfTasks("parley_queue_ready", "Jobs that are due and that no worker has, by task.");
  const oldest = gaugeOfTasks("parley_queue_oldest_seconds", "How long the oldest of them has been due, by task.");
  const dead = gaugeOfTasks("parley_queue_dead", "Jobs that used up their attempts (dead letters), by task.");
  for (const { task, ...depth } of byKnownTask(depths)) {
    ready.set({ task }, depth.ready);
    oldest.set({ task }, depth.oldestSeconds);
    dead.set({ task }, depth.dead);
  }
  const alive = new Gauge({
    name: "parley_workers",
    help: "Worker processes that beat, and those whose beat is late.",
    labelNames: ["state"],
    registers: [registry],
  });
  alive.set({ state: "beating" }, workers.beating);
  alive.set({ state: "silent" }, workers.silent);
  gaugeTenantTurns(registry, turns, tellTenants);
  if (tokens !== null) gaugeTenantTokens(registry, tokens);
  return registry.metrics();
}

/** Returns the depth of every kind of job, with zeros where none waits, so that alerts have a value. Unknown kinds in the queue are summed as `other`. */
function byKnownTask(depths: readonly TaskDepth[]): TaskDepth[] {
  const all = new Map<string, TaskDepth>(
    [...jobNames, "other"].map((task) => [task, { task, ready: 0, oldestSeconds: 0, dead: 0 }]),
  );
  for (const depth of depths) {
    const task = isJobName(depth.task) ? depth.task : "other";
    const known = all.get(task) as TaskDepth;
    all.set(task, {
      task,
      ready: known.ready + depth.ready,
      oldestSeconds: Math.max(known.oldestSeconds, depth.oldestSeconds),
      dead: known.dead + depth.dead,
    });
  }
  return [...all.values()];
}
