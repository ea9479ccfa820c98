/**
 * For how long the worst inputs that strangers may send hold the event loop of an HTTP process and of a worker.
 *
 *     bun loadtest/stalls.ts [--only words] [--json FILE]
 *
 * Starts an installation of its own and sends it each row of `stall-inputs.ts`, one after the other, each as a new tenant. Stalls are
 * counted in CPU time of the process that stands, so that a busy machine does not lengthen them. A row that breaks a process is told as such,
 * and the next one has a new installation.
 */
import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { startLoopback } from "../test/servers/loopback.ts";
import { printLine } from "./figures.ts";
import { startPlatforms } from "./platforms.ts";
import { type Stage, type StallInput, stallInputs } from "./stall-inputs.ts";
import type { Seen } from "./stall-probe.ts";
import { startStand } from "./stand.ts";

const { values } = parseArgs({
  options: { only: { type: "string", default: "" }, json: { type: "string", default: "" } },
});
/** What a row leaves behind is worked off after this. */
const settleMs = 700;

/** One row of the table. */
interface Row {
  readonly name: string;
  readonly outcome: string;
  readonly serve: Seen;
  readonly work: Seen;
}

/** Watches one process. */
class Probe {
  readonly #thread: Worker;

  constructor(url: string, pid: number) {
    this.#thread = new Worker(new URL("./stall-probe.ts", import.meta.url), { workerData: { url, pid } });
  }

  reset(): void {
    this.#thread.postMessage("reset");
  }

  tell(): Promise<Seen> {
    const told = new Promise<Seen>((resolve) => this.#thread.once("message", resolve));
    this.#thread.postMessage("tell");
    return told;
  }

  async stop(): Promise<void> {
    await this.#thread.terminate();
  }
}

async function freePort(): Promise<number> {
  const { origin, stop } = await startLoopback(() => {});
  stop();
  return Number(new URL(origin).port);
}

async function measure(inputs: readonly StallInput[]): Promise<Row[]> {
  await using opened = new AsyncDisposableStack();
  const platforms = await startPlatforms();
  opened.defer(() => platforms.stop());
  const stand = opened.use(await startStand({ workers: 0, env: platforms.env }));
  const port = await freePort();
  const worker = await stand.addWorker("work", { METRICS_PORT: String(port) });
  const serve = new Probe(stand.url, stand.server.pid);
  const work = new Probe(`http://127.0.0.1:${port}`, worker.pid);
  opened.defer(() => serve.stop());
  opened.defer(() => work.stop());
  const rows: Row[] = [];
  for (const { name, send } of inputs) {
    await using own = new AsyncDisposableStack();
    const stage: Stage = { stand, tenant: await stand.addTenant(), platforms, opened: own };
    await sleep(settleMs);
    serve.reset();
    work.reset();
    const sentAt = performance.now();
    const outcome = await send(stage).catch((error: unknown) => `failed: ${String(error).slice(0, 80)}`);
    const seconds = (performance.now() - sentAt) / 1000;
    await sleep(settleMs);
    const row = {
      name,
      outcome: `${outcome}, ${seconds.toFixed(1)} s`,
      serve: await serve.tell(),
      work: await work.tell(),
    };
    rows.push(row);
    printLine(lineOf(row));
  }
  return rows;
}

const cell = ({ stallMs, grewMib }: Seen) =>
  `${stallMs <= 10 ? "≤ 10" : Math.round(stallMs)} ms, +${Math.round(grewMib)} MiB`;
const lineOf = ({ name, outcome, serve, work }: Row) => `| ${name} | ${outcome} | ${cell(serve)} | ${cell(work)} |`;

printLine("| input | outcome | `serve` | `work` |\n|---|---|---|---|");
const rows = await measure(stallInputs.filter(({ name }) => name.includes(values.only)));
if (values.json !== "") await writeFile(values.json, JSON.stringify(rows, null, 2));
process.exit(0);
