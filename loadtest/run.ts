/**
 * Runs a k6 script against a stand of its own (Postgres, Redis, simulated model,
 * HTTP tier, workers, each a process, all on free ports), prints a table, and
 * keeps what was measured as a page and as JSON in `loadtest/results/`. Ends with
 * 1 when a bound was crossed. Needs a k6 on the path.
 *
 *     bun loadtest/run.ts [turns|reads|joins|hot|approvals|webhooks|soak] [--clients 1,50,200] [--duration 10s]
 *                         [--workers 1] [--modes direct,json,stream] [--set NAME=value]… [--results FOLDER]
 */
import { spawn } from "node:child_process";
import { access, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { listen } from "../src/kernel/runtime.ts";
import { startPlatforms } from "./platforms.ts";
import { Watch } from "./processes.ts";
import { startStand } from "./stand.ts";

/** What each script runs with unless told otherwise. */
const presets: Readonly<Record<string, { readonly clients: string; readonly duration: string }>> = {
  turns: { clients: "1,50,200", duration: "10s" },
  reads: { clients: "20", duration: "20s" },
  joins: { clients: "100", duration: "30s" },
  hot: { clients: "100", duration: "20s" },
  approvals: { clients: "20", duration: "20s" },
  webhooks: { clients: "50", duration: "20s" },
  soak: { clients: "15", duration: "5m" },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    clients: { type: "string" },
    duration: { type: "string" },
    modes: { type: "string", default: "direct,json,stream" },
    workers: { type: "string", default: "1" },
    set: { type: "string", multiple: true, default: [] },
    results: { type: "string", default: join(import.meta.dirname, "results") },
  },
});
const script = positionals[0] ?? "turns";
const preset = presets[script];
if (preset === undefined || positionals.length > 1) leave(`Scripts: ${Object.keys(presets).join(", ")}.`);
const modes = script === "turns" ? values.modes.split(",") : [null];

process.exit(await main());

async function main(): Promise<number> {
  await mkdir(values.results, { recursive: true });
  await using opened = new AsyncDisposableStack();
  const platforms = await startPlatforms();
  opened.defer(() => platforms.stop());
  const stand = await startStand({ workers: Number(values.workers), env: platforms.env });
  opened.use(stand);
  const watch = new Watch(stand.processes);
  opened.defer(() => watch.stop());
  const told = listen({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => Response.json(request.url.endsWith("/posts") ? platforms.posts() : watch.samples),
  });
  opened.defer(() => told.stop(true));
  const env = {
    BASE_URL: stand.url,
    API_KEY: stand.apiKey,
    AGENT_ID: stand.agentId,
    MODEL_URL: stand.modelUrl,
    STAND_URL: `http://127.0.0.1:${told.port}`,
    DURATION: values.duration ?? preset?.duration ?? "",
    ...Object.fromEntries(values.set.map((setting) => setting.split(/=(.*)/s).slice(0, 2))),
  };
  let failed = 0;
  let head = "";
  for (const clients of (values.clients ?? preset?.clients ?? "").split(",")) {
    for (const mode of modes) {
      const chat =
        script === "webhooks" ? { CHAT: JSON.stringify(await platforms.connect(stand.call, stand.agentId)) } : {};
      watch.begin();
      const parts = [...(mode === null ? [] : [mode]), ...(modes.length > 1 || clients.includes(",") ? [clients] : [])];
      const results = await freeName([day(), script, ...parts].join("-"));
      const more = { CLIENTS: clients, RESULTS: results, ...(mode === null ? {} : { MODE: mode }), ...chat };
      const code = await k6({ ...env, ...more });
      const { figures } = JSON.parse(await readFile(`${results}.json`, "utf8")) as { figures: Record<string, string> };
      if (head === "") {
        head = `| ${Object.keys(figures).join(" | ")} |\n|${"---|".repeat(Object.keys(figures).length)}\n`;
        process.stdout.write(head);
      }
      process.stdout.write(`| ${Object.values(figures).join(" | ")} |\n`);
      process.stderr.write(`${results}.html\n`);
      if (code !== 0) failed += 1;
    }
  }
  return failed === 0 ? 0 : 1;
}

/** Runs k6 once, silent but for its warnings. Returns its exit code, which says whether all bounds held. */
function k6(env: Record<string, string>): Promise<number> {
  const set = Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
  const path = join(import.meta.dirname, "k6", `${script}.js`);
  const child = spawn("k6", ["run", "--quiet", "--no-usage-report", ...set, path], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return new Promise((resolve, reject) => {
    child.once("error", () => reject(new Error("There is no k6 on the path.")));
    child.once("exit", (code) => resolve(code ?? 1));
  });
}

/** Today in UTC, YYYY-MM-DD. */
function day(): string {
  return new Date().toISOString().slice(0, "YYYY-MM-DD".length);
}

/** A path in the results that no earlier run of this day has taken, without its ending. */
async function freeName(name: string): Promise<string> {
  for (let n = 1; ; n++) {
    const path = join(values.results, n === 1 ? name : `${name}-${n}`);
    const taken = await access(`${path}.json`).then(
      () => true,
      () => false,
    );
    if (!taken) return path;
  }
}

function leave(line: string): never {
  process.stderr.write(`${line}\n`);
  process.exit(2);
}
