/**
 * Turns a second and time to first chunk of the service, beside the bare
 * endpoint and in turn with it, so that the ratio holds on a noisy machine.
 *
 *     bun loadtest/turns.ts [--clients 1,50] [--seconds 5] [--rounds 3] [--workers 1] [--mode json|stream]
 */
import { parseArgs } from "node:util";
import { type Drive, drive, type Measured } from "./drive.ts";
import { median, printLine } from "./figures.ts";
import { cpuSeconds } from "./processes.ts";
import { type Stand, startStand } from "./stand.ts";

const { values } = parseArgs({
  options: {
    clients: { type: "string", default: "1,50" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    workers: { type: "string", default: "1" },
    mode: { type: "string", default: "stream" },
    chunks: { type: "string", default: "20" },
  },
});

async function compare(stand: Stand, clients: number): Promise<void> {
  const json = { "content-type": "application/json" };
  const common = { clients, seconds: Number(values.seconds), chunks: Number(values.chunks) };
  const toBare: Drive = { ...common, url: stand.bareUrl, headers: json, stream: true };
  const toService: Drive = {
    ...common,
    url: `${stand.url}/v1/agents/${stand.agentId}/sessions`,
    headers: { ...json, authorization: `Bearer ${stand.apiKey}` },
    stream: values.mode === "stream",
  };
  const bare: Measured[] = [];
  const ours: Measured[] = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    bare.push(await drive(toBare));
    const before = await cpuSeconds(stand.processes);
    const measured = await drive(toService);
    const after = await cpuSeconds(stand.processes);
    ours.push(measured);
    const turns = measured.turnsPerSecond * Number(values.seconds);
    const cpu = [...after].map(
      ([name, used]) => `${name} ${(((used - (before.get(name) ?? 0)) * 1000) / turns).toFixed(2)}`,
    );
    printLine(`  round ${round + 1}: CPU ms a turn: ${cpu.join(", ")}`);
  }
  printLine(`${clients} clients, ${values.chunks} chunks, ${values.mode}, ${values.workers} worker(s):`);
  show("bare", bare);
  show("parley", ours);
  const ratios = ours.map((m, index) => m.turnsPerSecond / (bare[index]?.turnsPerSecond ?? 1));
  printLine(`  ratio    ${median(ratios).toFixed(2)}`);
}

function show(name: string, all: Measured[]): void {
  const middle = (what: "turnsPerSecond" | "firstTextMs" | "turnMs", digits: number, width: number) =>
    median(all.map((measured) => measured[what]))
      .toFixed(digits)
      .padStart(width);
  const failed = all.reduce((sum, measured) => sum + measured.failed, 0);
  const times = `first text ${middle("firstTextMs", 1, 7)} ms   whole ${middle("turnMs", 1, 7)} ms`;
  printLine(`  ${name.padEnd(8)} ${middle("turnsPerSecond", 0, 6)} turns/s   ${times}   failed ${failed}`);
}

const stand = await startStand({ workers: Number(values.workers) });
try {
  for (const clients of values.clients.split(",")) await compare(stand, Number(clients));
} finally {
  await stand[Symbol.asyncDispose]();
}
process.exit(0);
