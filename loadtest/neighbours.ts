/**
 * What one tenant feels of another. For each attack of tenant A: tenant B's time to the
 * first text of a turn and its failed requests, idle and beside the attack, in turn.
 *
 *     bun loadtest/neighbours.ts [--seconds 8] [--slots 16] [--only words]
 *
 * The promise: no 5xx of B's because of A, and at the 95th percentile at most twice the
 * idle time and 100 ms.
 */
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs, promisify } from "node:util";
import { type Attack, type Statuses, startSurroundings } from "./attacks.ts";
import { printLine } from "./figures.ts";
import { type Stand, type StandTenant, startStand } from "./stand.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "8" },
    slots: { type: "string", default: "16" },
    only: { type: "string", default: "" },
  },
});
/** An attack has begun when it has gone on for this long. */
const warmMs = 2_000;
/** What an attack leaves behind is worked off or ended after this. */
const settleMs = 1_000;
const extraMs = 100;

interface Felt {
  readonly turns: number;
  readonly p50: number;
  readonly p95: number;
  readonly readP95: number;
  readonly serverErrors: number;
  readonly otherErrors: number;
}

/** Measures as a client of the tenant. */
async function feel(stand: Stand, { apiKey, agentId }: StandTenant): Promise<Felt> {
  const script = `${import.meta.dirname}/neighbour-probe.ts`;
  const words = ["--url", stand.url, "--key", apiKey, "--agent", agentId, "--seconds", values.seconds];
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...words]);
  return JSON.parse(stdout) as Felt;
}

/** Attacks until the signal; returns what came back. */
async function attack(stand: Stand, plan: Attack, signal: AbortSignal): Promise<Statuses> {
  await using opened = new AsyncDisposableStack();
  const statuses: Statuses = new Map();
  const clients: Promise<void>[] = [];
  for (let n = 0; n < plan.tenants; n++) {
    const tenant = await stand.addTenant();
    const act = await plan.prepare(stand, tenant, opened);
    opened.defer(() => end(tenant));
    const client = async () => {
      while (!signal.aborted) {
        const status = await act(signal).catch(() => 0);
        if (!signal.aborted) statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status === 0 || status === 429) await sleep(20);
      }
    };
    clients.push(...Array.from({ length: plan.clients }, client));
  }
  await Promise.all(clients);
  return statuses;
}

/** Ends what the tenant's turns still do: deleting an agent cancels them. */
async function end({ call }: StandTenant): Promise<void> {
  const { agents } = (await call("GET", "/v1/agents")) as { agents: { id: string }[] };
  for (const { id } of agents) await call("DELETE", `/v1/agents/${id}`);
}

async function measure(stand: Stand, b: StandTenant, plan: Attack): Promise<string> {
  const idle = await feel(stand, b);
  const stop = new AbortController();
  const attacking = attack(stand, plan, stop.signal);
  await sleep(warmMs);
  const beside = await feel(stand, b);
  stop.abort();
  const statuses = await attacking;
  await sleep(settleMs);
  const limit = 2 * idle.p95 + extraMs;
  const kept = beside.p95 <= limit && beside.serverErrors === 0;
  const said = [...statuses].map(([status, count]) => `${count} × ${status === 0 ? "none" : status}`).join(", ");
  const ms = (value: number) => value.toFixed(0);
  return `| ${plan.name} | ${ms(idle.p50)}, ${ms(idle.p95)} | ${ms(beside.p50)}, ${ms(beside.p95)} | ${ms(limit)} | ${kept ? "kept" : "**broken**"} | ${beside.serverErrors}, ${beside.otherErrors} of ${beside.turns} turns | ${said || "nothing yet"} |`;
}

async function main(): Promise<void> {
  await using surroundings = await startSurroundings();
  await using stand = await startStand({
    workers: 1,
    env: { ...surroundings.env, WORKER_CONCURRENCY: values.slots },
  });
  const b = await stand.addTenant();
  await feel(stand, b);
  printLine("| A | B idle: first text p50, p95, ms | beside A | may be | | B's 5xx, other failures | what A got |");
  printLine("|---|---|---|---|---|---|---|");
  for (const plan of surroundings.attacks)
    if (plan.name.includes(values.only)) printLine(await measure(stand, b, plan));
}

await main();
process.exit(0);
