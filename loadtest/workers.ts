/**
 * What more workers bring, and what an idle one costs. One stand for each number
 * of workers, driven in turn, so that the ratios hold on a noisy machine.
 *
 *     bun loadtest/workers.ts [--workers 1,2,3] [--clients 50] [--seconds 5] [--rounds 3] [--idle-seconds 10]
 *       [--delay-ms 0] [--concurrency 0]
 *
 * With a model that takes its time (`--delay-ms` between chunks) and workers that
 * run few turns at once (`--concurrency`), the workers are the limit; without, the cores are.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { drive } from "./drive.ts";
import { median, printLine } from "./figures.ts";
import { cpuSeconds } from "./processes.ts";
import { type Stand, startStand } from "./stand.ts";

const { values } = parseArgs({
  options: {
    workers: { type: "string", default: "1,2,3" },
    clients: { type: "string", default: "50" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    chunks: { type: "string", default: "20" },
    "delay-ms": { type: "string", default: "0" },
    concurrency: { type: "string", default: "0" },
    "idle-seconds": { type: "string", default: "10" },
  },
});

/** Share of one core that each process of an idle stand uses. */
async function idle(stand: Stand): Promise<void> {
  const seconds = Number(values["idle-seconds"]);
  // What the start left to do is over by then.
  await sleep(3_000);
  const before = await cpuSeconds(stand.processes);
  await sleep(seconds * 1000);
  const after = await cpuSeconds(stand.processes);
  const shares = [...after].map(([name, used]) => {
    const share = (100 * (used - (before.get(name) ?? 0))) / seconds;
    return `${name} ${share.toFixed(1)} %`;
  });
  printLine(`Idle for ${seconds} s, share of one core: ${shares.join(", ")}`);
}

async function turnsPerSecond({ url, apiKey, agentId }: Stand): Promise<number> {
  const measured = await drive({
    url: `${url}/v1/agents/${agentId}/sessions`,
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    clients: Number(values.clients),
    seconds: Number(values.seconds),
    chunks: Number(values.chunks),
    delayMs: Number(values["delay-ms"]),
    stream: true,
  });
  if (measured.failed > 0) throw new Error(`${measured.failed} turns failed.`);
  return measured.turnsPerSecond;
}

async function main(): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const stands: { workers: number; stand: Stand; rates: number[] }[] = [];
  for (const text of values.workers.split(",")) {
    const stand = await startStand({
      workers: Number(text),
      ...(values.concurrency === "0" ? {} : { env: { WORKER_CONCURRENCY: values.concurrency } }),
    });
    opened.use(stand);
    if (stands.length === 0) await idle(stand);
    stands.push({ workers: Number(text), stand, rates: [] });
  }
  for (const { stand } of stands) await turnsPerSecond(stand);
  for (let round = 0; round < Number(values.rounds); round++)
    for (const { stand, rates } of stands) rates.push(await turnsPerSecond(stand));
  printLine("\n| workers | turns/s | of the first |\n|---|---|---|");
  for (const { workers, rates } of stands) {
    const ratios = rates.map((rate, round) => rate / (stands[0]?.rates[round] ?? rate));
    printLine(`| ${workers} | ${median(rates).toFixed(0)} | ${median(ratios).toFixed(2)} |`);
  }
}

await main();
process.exit(0);
