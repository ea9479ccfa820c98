/**
 * What a turn costs a tenant that has much: many sessions, agents and webhooks, beside a new tenant of the same
 * installation, in turn. The webhooks are first for events that no turn raises, then for the end of each turn.
 *
 *     bun loadtest/large-tenant.ts [--sessions 1000000] [--agents 100] [--webhooks 20] [--clients 1,50] [--seconds 3] [--rounds 7]
 */
import { parseArgs } from "node:util";
import { listen } from "../src/kernel/runtime.ts";
import { drive, type Measured } from "./drive.ts";
import { median, printLine } from "./figures.ts";
import { cpuSeconds } from "./processes.ts";
import { seedRows } from "./rows.ts";
import { type Stand, type StandTenant, startStand } from "./stand.ts";

const { values } = parseArgs({
  options: {
    sessions: { type: "string", default: "1000000" },
    agents: { type: "string", default: "100" },
    webhooks: { type: "string", default: "20" },
    clients: { type: "string", default: "1,50" },
    seconds: { type: "string", default: "3" },
    rounds: { type: "string", default: "7" },
  },
});

/** What one tenant's turns took, a figure for each round. */
interface Side {
  readonly tenant: StandTenant;
  readonly measured: Measured[];
  readonly cpuMs: number[];
}

async function measure(stand: Stand, side: Side, clients: number, isCounted: boolean): Promise<void> {
  const { agentId, apiKey } = side.tenant;
  const before = await cpuSeconds(stand.processes);
  const measured = await drive({
    url: `${stand.url}/v1/agents/${agentId}/sessions`,
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    clients,
    seconds: Number(values.seconds),
    chunks: 20,
    stream: true,
  });
  const after = await cpuSeconds(stand.processes);
  if (!isCounted) return;
  side.measured.push(measured);
  const used = ["serve", "work", "postgres", "redis"].map((name) => (after.get(name) ?? 0) - (before.get(name) ?? 0));
  side.cpuMs.push((used.reduce((sum, seconds) => sum + seconds, 0) * 1000) / measured.turns);
}

/** Turns of both tenants in turn, the other one first in every second round; the first round warms up. */
async function compare(stand: Stand, large: StandTenant, clients: number, what: string): Promise<void> {
  const fresh = await stand.addTenant();
  const sides = [fresh, large].map((tenant): Side => ({ tenant, measured: [], cpuMs: [] }));
  for (let round = 0; round <= Number(values.rounds); round++)
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) await measure(stand, side, clients, round > 0);
  const [a, b] = sides;
  if (a === undefined || b === undefined) return;
  const ratio = (of: (side: Side) => readonly number[]) =>
    median(of(b).map((figure, round) => figure / (of(a)[round] ?? 0))).toFixed(2);
  const [turnMs, cpuMs] = [(side: Side) => side.measured.map((each) => each.turnMs), (side: Side) => side.cpuMs];
  const both = (of: (side: Side) => readonly number[]) => `${median(of(a)).toFixed(1)}, ${median(of(b)).toFixed(1)} ms`;
  const failed = [...a.measured, ...b.measured].reduce((sum, each) => sum + each.failed, 0);
  printLine(
    `| ${what} | ${clients} | ${both(turnMs)} | ${ratio(turnMs)} | ${both(cpuMs)} | ${ratio(cpuMs)} | ${failed} |`,
  );
}

/** Gives a tenant agents and webhooks, the latter for an event. */
async function enlarge({ call, providerId }: StandTenant, receiver: string): Promise<readonly string[]> {
  const has = (await call("GET", "/v1/agents")) as unknown[];
  for (let n = has.length; n < Number(values.agents); n++)
    await call("POST", "/v1/agents", { name: `agent ${n}`, model: "simulated/model", providerId });
  const ids: string[] = [];
  for (let n = 0; n < Number(values.webhooks); n++)
    ids.push((await call("POST", "/v1/webhooks", { url: receiver, events: ["mcp_connection.changed"] })).id);
  return ids;
}

async function measureAll(stand: Stand, receiver: string): Promise<void> {
  const sessions = Number(values.sessions);
  await seedRows(stand, { sessions, messages: 2 * sessions });
  const webhooks = await enlarge(stand, receiver);
  printLine(
    `${values.sessions} sessions, ${values.agents} agents and ${values.webhooks} webhooks beside a new tenant:\n\n` +
      "| webhooks | clients | whole turn: new, large | ratio | CPU a turn: new, large | ratio | failed |\n|---|---|---|---|---|---|---|",
  );
  const clientNumbers = values.clients.split(",").map(Number);
  for (const clients of clientNumbers) await compare(stand, stand, clients, "of other events");
  for (const id of webhooks) await stand.call("PATCH", `/v1/webhooks/${id}`, { events: ["turn.ended"] });
  for (const clients of clientNumbers) await compare(stand, stand, clients, "of each turn's end");
}

const stand = await startStand({ workers: 1 });
let received = 0;
const receiver = listen({
  hostname: "127.0.0.1",
  port: 0,
  fetch: () => {
    received += 1;
    return new Response(null, { status: 204 });
  },
});
try {
  await measureAll(stand, `http://127.0.0.1:${receiver.port}/`);
  printLine(`\n${received} deliveries were received.`);
} finally {
  await receiver.stop(true);
  await stand[Symbol.asyncDispose]();
}
process.exit(0);
