/**
 * Turns of other systems that run agents, beside Parley and the bare endpoint,
 * each asked in turn within each round. What they store and how they are asked
 * is in their servers beside this file.
 *
 *     bun loadtest/peers/run.ts [--clients 1,50] [--seconds 5] [--rounds 3] [--only dbos,mastra,langgraph,eve]
 */
import { parseArgs } from "node:util";
import { type Drive, drive, type Measured, type Wire } from "../drive.ts";
import { median, printLine } from "../figures.ts";
import { cpuSeconds, type StandProcess } from "../processes.ts";
import { type Stand, startStand } from "../stand.ts";
import { startPeerServer } from "./start.ts";
import { type Peer, peers } from "./systems.ts";

const { values } = parseArgs({
  options: {
    clients: { type: "string", default: "1,50" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    only: { type: "string", default: peers.map(({ name }) => name).join(",") },
  },
});

/** A system under measurement. */
interface Measurable {
  readonly name: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly wire?: Wire;
  /** Whose CPU time its turns cost. */
  readonly processes: readonly StandProcess[];
}

/** With the CPU time of a turn, and of that what Postgres used. */
type Figures = Measured & { readonly cpuMs: number; readonly postgresMs: number };

const json = { "content-type": "application/json" };
/** Chunks of an answer, as in `turns.ts`. */
const chunks = 20;
/** Nothing is measured while programs are new. */
const warmUpSeconds = 2;

async function startPeer(stand: Stand, opened: AsyncDisposableStack, peer: Peer): Promise<Measurable> {
  const { url, pid } = await startPeerServer(stand, opened, peer);
  const processes = [{ name: peer.name, pid }, ...named(stand, "postgres")];
  const wire = peer.wire === undefined ? {} : { wire: peer.wire };
  return { name: peer.name, url, headers: json, ...wire, processes };
}

function named(stand: Stand, ...names: string[]): StandProcess[] {
  return stand.processes.filter(({ name }) => names.includes(name));
}

function standing(stand: Stand): Measurable[] {
  const parley: Measurable = {
    name: "parley",
    url: `${stand.url}/v1/agents/${stand.agentId}/sessions`,
    headers: { ...json, authorization: `Bearer ${stand.apiKey}` },
    processes: named(stand, "serve", "work", "redis", "postgres"),
  };
  return [{ name: "bare", url: stand.bareUrl, headers: json, processes: named(stand, "bare") }, parley];
}

async function measure(system: Measurable, clients: number, seconds: number): Promise<Figures> {
  const { processes, name: _, ...asked } = system;
  const plan: Drive = { ...asked, clients, seconds, chunks, stream: true };
  const before = await cpuSeconds(processes);
  const measured = await drive(plan);
  const after = await cpuSeconds(processes);
  const aTurn = (name: string) => (((after.get(name) ?? 0) - (before.get(name) ?? 0)) * 1000) / measured.turns;
  const cpuMs = [...after.keys()].reduce((sum, name) => sum + aTurn(name), 0);
  return { ...measured, cpuMs, postgresMs: aTurn("postgres") };
}

async function compare(systems: readonly Measurable[], clients: number): Promise<void> {
  for (const system of systems) await measure(system, clients, warmUpSeconds);
  const all = new Map<string, Figures[]>(systems.map(({ name }) => [name, []]));
  for (let round = 0; round < Number(values.rounds); round++)
    for (const system of systems) all.get(system.name)?.push(await measure(system, clients, Number(values.seconds)));
  printLine(`\n${clients} clients, ${chunks} chunks, medians of ${values.rounds} rounds of ${values.seconds} s:\n`);
  printLine("| | turns/s | first text | whole turn | CPU ms a turn | of it Postgres | failed |");
  printLine("|---|---|---|---|---|---|---|");
  for (const [name, figures] of all) {
    const middle = (what: keyof Figures, digits: number) => median(figures.map((f) => f[what])).toFixed(digits);
    const failed = figures.reduce((sum, f) => sum + f.failed, 0);
    const times = `${middle("firstTextMs", 1)} ms | ${middle("turnMs", 1)} ms`;
    const cpu = `${middle("cpuMs", 2)} | ${middle("postgresMs", 2)}`;
    printLine(`| ${name} | ${middle("turnsPerSecond", 0)} | ${times} | ${cpu} | ${failed} |`);
  }
}

const opened = new AsyncDisposableStack();
try {
  const stand = opened.use(await startStand({ workers: 1, connections: 200 }));
  const systems = standing(stand);
  const only = values.only.split(",");
  for (const peer of peers.filter(({ name }) => only.includes(name)))
    systems.push(await startPeer(stand, opened, peer));
  for (const clients of values.clients.split(",")) await compare(systems, Number(clients));
} finally {
  await opened.disposeAsync();
}
process.exit(0);
