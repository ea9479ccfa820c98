/**
 * Turns a second and time to first chunk of the service, beside the bare
 * endpoint and in turn with it, so that the ratio holds on a noisy machine.
 *
 *     bun loadtest/turns.ts [--clients 1,50] [--seconds 5] [--rounds 3] [--workers 1] [--mode json|stream]
 */
import { parseArgs } from "node:util";
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

interface Measured {
  readonly turnsPerSecond: number;
  readonly firstChunkMs: number;
  readonly turnMs: number;
  readonly failed: number;
}

const message = {
  id: "m1",
  role: "user",
  parts: [{ type: "text", text: `[[sim: chunks=${values.chunks} delayMs=0]]` }],
};
const firstText = /"text-delta"/;

/** One turn, read as it comes; answers the moment its first text arrived. */
async function turn(
  url: string,
  headers: Record<string, string>,
  stream: boolean,
): Promise<{ firstAt: number; ok: boolean }> {
  const response = await fetch(url, {
    method: "POST",
    headers,
    body: JSON.stringify({ message, ...(stream ? {} : { stream }) }),
  });
  if (!stream) {
    const body = await response.text();
    return { firstAt: performance.now(), ok: response.ok && body.includes(`chunk-${values.chunks} `) };
  }
  let firstAt = 0;
  let tail = "";
  const decoder = new TextDecoder();
  for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
    tail = (tail + decoder.decode(part, { stream: true })).slice(-20_000);
    if (firstAt === 0 && firstText.test(tail)) firstAt = performance.now();
  }
  return { firstAt, ok: tail.includes(`chunk-${values.chunks} `) && tail.includes("[DONE]") };
}

async function measure(
  url: string,
  headers: Record<string, string>,
  clients: number,
  stream: boolean,
): Promise<Measured> {
  const endsAt = performance.now() + Number(values.seconds) * 1000;
  const first: number[] = [];
  const whole: number[] = [];
  let failed = 0;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < endsAt) {
        const sentAt = performance.now();
        const { firstAt, ok } = await turn(url, headers, stream);
        if (!ok) failed += 1;
        first.push(firstAt - sentAt);
        whole.push(performance.now() - sentAt);
      }
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  return { turnsPerSecond: whole.length / seconds, firstChunkMs: median(first), turnMs: median(whole), failed };
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function compare(stand: Stand, clients: number): Promise<void> {
  const stream = values.mode === "stream";
  const json = { "content-type": "application/json" };
  const authorized = { ...json, authorization: `Bearer ${stand.apiKey}` };
  const sessions = `${stand.url}/v1/agents/${stand.agentId}/sessions`;
  const bare: Measured[] = [];
  const ours: Measured[] = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    bare.push(await measure(stand.bareUrl, json, clients, true));
    const before = await cpuSeconds(stand.processes);
    const measured = await measure(sessions, authorized, clients, stream);
    const after = await cpuSeconds(stand.processes);
    ours.push(measured);
    const turns = measured.turnsPerSecond * Number(values.seconds);
    const cpu = [...after].map(
      ([name, used]) => `${name} ${(((used - (before.get(name) ?? 0)) * 1000) / turns).toFixed(2)}`,
    );
    say(`  round ${round + 1}: CPU ms a turn: ${cpu.join(", ")}`);
  }
  const show = (name: string, all: Measured[]) =>
    say(
      `  ${name.padEnd(8)} ${median(all.map((m) => m.turnsPerSecond))
        .toFixed(0)
        .padStart(6)} turns/s   first text ` +
        `${median(all.map((m) => m.firstChunkMs))
          .toFixed(1)
          .padStart(7)} ms   whole ${median(all.map((m) => m.turnMs))
          .toFixed(1)
          .padStart(7)} ms   ` +
        `failed ${all.reduce((sum, m) => sum + m.failed, 0)}`,
    );
  say(`${clients} clients, ${values.chunks} chunks, ${values.mode}, ${values.workers} worker(s):`);
  show("bare", bare);
  show("parley", ours);
  const ratios = ours.map((m, index) => m.turnsPerSecond / (bare[index]?.turnsPerSecond ?? 1));
  say(`  ratio    ${median(ratios).toFixed(2)}`);
}

const stand = await startStand({ workers: Number(values.workers) });
try {
  for (const clients of values.clients.split(",")) await compare(stand, Number(clients));
} finally {
  await stand[Symbol.asyncDispose]();
}
process.exit(0);
