/**
 * What many idle workers cost Postgres. One worker process runs a steady stream of turns;
 * beside it a number of pools with one slot each stand by, in this process. Counted are
 * Postgres' transactions (a statement alone is one) and its CPU, without turns and with them.
 *
 *     bun loadtest/idle-workers.ts [--idle 0,40] [--turns-per-second 50] [--seconds 10]
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import postgres from "postgres";
import { readConfig } from "../src/kernel/config.ts";
import { createLogger } from "../src/kernel/telemetry/log.ts";
import { openFoundation, openWorkerContext } from "../src/roles/foundation.ts";
import { requireShared } from "../src/roles/shared.ts";
import { startWorkerPool } from "../workers/main.ts";
import { median, printLine } from "./figures.ts";
import { cpuSeconds } from "./processes.ts";
import { type Stand, startStand } from "./stand.ts";

const { values } = parseArgs({
  options: {
    idle: { type: "string", default: "0,40" },
    "turns-per-second": { type: "string", default: "50" },
    seconds: { type: "string", default: "10" },
  },
});
const seconds = Number(values.seconds);

/** Starts worker pools with one slot each, in this process. */
async function addPools(stand: Stand, count: number, opened: AsyncDisposableStack): Promise<void> {
  const config = readConfig({ ...stand.env, WORKER_CONCURRENCY: "1", LOG_LEVEL: "error" });
  const log = createLogger("error");
  const shared = { ...requireShared(config), config, log, publicUrl: stand.url, simulatedModelUrl: null };
  for (let n = 0; n < count; n++) {
    const ctx = openWorkerContext(openFoundation(shared, opened), opened);
    const pool = await startWorkerPool(ctx, { databaseUrl: stand.databaseUrl });
    opened.defer(() => pool.drain(0));
  }
}

/** Asks for turns at a steady rate. Returns the median time of a whole one. */
async function ask({ url, apiKey, agentId }: Stand, perSecond: number): Promise<{ ms: number; failed: number }> {
  const times: number[] = [];
  let failed = 0;
  const one = async () => {
    const sentAt = performance.now();
    const parts = [{ type: "text", text: "[[sim: chunks=2 delayMs=0]]" }];
    const response = await fetch(`${url}/v1/agents/${agentId}/sessions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ message: { id: "m1", role: "user", parts }, stream: false }),
    });
    await response.text();
    if (!response.ok) failed += 1;
    times.push(performance.now() - sentAt);
  };
  const all: Promise<void>[] = [];
  const startedAt = performance.now();
  for (let n = 0; n < perSecond * seconds; n++) {
    const dueMs = startedAt + (1000 * n) / perSecond - performance.now();
    if (dueMs > 0) await sleep(dueMs);
    all.push(one());
  }
  await Promise.all(all);
  return { ms: median(times), failed };
}

/** Postgres' transactions and the share of a core it used, a second, while something goes on. */
async function measure<T>(
  stand: Stand,
  work: () => Promise<T>,
): Promise<{ result: T; transactions: number; cpu: number }> {
  const sql = postgres(stand.databaseUrl, { max: 1 });
  const count = async () => {
    const [row] = await sql<{ n: string }[]>`
      select (xact_commit + xact_rollback)::text as n from pg_stat_database where datname = current_database()`;
    return Number(row?.n ?? 0);
  };
  const before = { transactions: await count(), cpu: (await cpuSeconds(stand.processes)).get("postgres") ?? 0 };
  const startedAt = performance.now();
  const result = await work();
  // A backend reports what it did up to a second later.
  await sleep(1_500);
  const lasted = (performance.now() - startedAt) / 1000;
  const transactions = ((await count()) - before.transactions) / lasted;
  const cpu = (((await cpuSeconds(stand.processes)).get("postgres") ?? 0) - before.cpu) / lasted;
  await sql.end();
  return { result, transactions, cpu };
}

async function main(): Promise<void> {
  printLine(
    "| idle workers | at rest: transactions/s | Postgres' CPU | with turns: transactions/s | CPU | a turn | failed |\n|---|---|---|---|---|---|---|",
  );
  for (const text of values.idle.split(",")) {
    await using opened = new AsyncDisposableStack();
    const stand = opened.use(await startStand({ workers: 1, connections: 2_000 }));
    await addPools(stand, Number(text), opened);
    await sleep(3_000);
    const rest = await measure(stand, () => sleep(seconds * 1000));
    const busy = await measure(stand, () => ask(stand, Number(values["turns-per-second"])));
    const percent = (share: number) => `${(100 * share).toFixed(0)} %`;
    printLine(
      `| ${text} | ${rest.transactions.toFixed(0)} | ${percent(rest.cpu)} | ${busy.transactions.toFixed(0)} | ${percent(busy.cpu)} | ${busy.result.ms.toFixed(0)} ms | ${busy.result.failed} |`,
    );
  }
}

await main();
