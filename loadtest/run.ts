/**
 * Runs a k6 script against a stand of its own (Postgres, Redis, simulated model,
 * HTTP tier, workers, each a process), and prints a table. Needs a k6 on the path.
 *
 *     bun loadtest/run.ts [--script turns.js] [--clients 1,50,200] [--modes direct,json,stream] [--duration 10s] [--workers 1]
 */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Stand, startStand } from "./stand.ts";

const { values } = parseArgs({
  options: {
    script: { type: "string", default: "turns.js" },
    clients: { type: "string", default: "1,50,200" },
    modes: { type: "string", default: "direct,json,stream" },
    duration: { type: "string", default: "10s" },
    workers: { type: "string", default: "1" },
  },
});

interface Summary {
  readonly metrics: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** Runs k6 once and answers its summary. A crossed threshold is part of the result, not a failure of the run. */
async function k6(stand: Stand, mode: string, clients: string): Promise<Summary> {
  const folder = await mkdtemp(join(tmpdir(), "parley-k6-"));
  const summary = join(folder, "summary.json");
  const env = {
    BASE_URL: stand.url,
    API_KEY: stand.apiKey,
    AGENT_ID: stand.agentId,
    MODEL_URL: stand.modelUrl,
    MODE: mode,
    CLIENTS: clients,
    DURATION: values.duration,
  };
  const set = Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
  const args = [
    "run",
    "--quiet",
    "--no-usage-report",
    "--summary-export",
    summary,
    ...set,
    join(import.meta.dirname, values.script),
  ];
  await new Promise<void>((resolve, reject) => {
    const child = spawn("k6", args, { stdio: ["ignore", "ignore", "inherit"] });
    child.once("error", () => reject(new Error("There is no k6 on the path.")));
    child.once("exit", () => resolve());
  });
  const text = await readFile(summary, "utf8");
  await rm(folder, { recursive: true });
  return JSON.parse(text) as Summary;
}

function show(number: number | undefined, digits: number): string {
  return number === undefined ? "–" : number.toFixed(digits);
}

const stand = await startStand({ workers: Number(values.workers) });
try {
  process.stdout.write(
    "| clients | mode | turns/s | first byte, median | whole turn, median | p(95) | failed |\n|---|---|---|---|---|---|---|\n",
  );
  for (const clients of values.clients.split(",")) {
    for (const mode of values.modes.split(",")) {
      const {
        turns,
        turn_ms: whole,
        first_chunk_ms: first,
        turn_failed: failed,
      } = (await k6(stand, mode, clients)).metrics;
      const share = ((failed?.value ?? 0) * 100).toFixed(2);
      process.stdout.write(
        `| ${clients} | ${mode} | ${show(turns?.rate, 0)} | ${show(first?.med, 1)} ms | ${show(whole?.med, 1)} ms | ${show(whole?.["p(95)"], 1)} ms | ${share} % |\n`,
      );
    }
  }
} finally {
  await stand[Symbol.asyncDispose]();
}
process.exit(0);
