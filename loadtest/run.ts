/**
 * Runs a k6 script against a stand of its own (Postgres, Redis, simulated model,
 * HTTP tier, workers, each a process, all on free ports), prints a table, and
 * keeps what was measured as a page and as JSON in `loadtest/results/`. Ends with
 * 1 when a bound was crossed. Needs a k6 on the path.
 *
 *     bun loadtest/run.ts [turns|reads|joins|hot|approvals|webhooks|soak] [--clients 1,50,200] [--duration 10s]
 *                         [--workers 1] [--together] [--modes direct,json,stream] [--rounds 3] [--cold] [--session new|tenth]
 *                         [--set NAME=value]… [--results FOLDER]
 *
 * With `--together` one process does all, as `npm start` does. Of `turns` alone: `--rounds` runs the modes in turn, so often and once more to warm up, and prints medians and ratios
 * to the bare endpoint. With `--cold` each round has an installation of its own and begins with it; the first
 * `--duration` is measured. With `--session tenth` each turn is the tenth of its session.
 */
import { spawn } from "node:child_process";
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import postgres from "postgres";
import { listen } from "../src/kernel/runtime.ts";
import type { Measured } from "./drive.ts";
import { printLine } from "./figures.ts";
import { compileScripts } from "./k6-scripts.ts";
import { startPlatforms } from "./platforms.ts";
import { Watch } from "./processes.ts";
import { bareMode, coldRounds, directMode, printComparison, warmRounds } from "./rounds.ts";
import { startStand } from "./stand.ts";
import { earlierMessages, Tenths } from "./tenth.ts";

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
    modes: { type: "string" },
    rounds: { type: "string" },
    cold: { type: "boolean", default: false },
    session: { type: "string", default: "new" },
    workers: { type: "string", default: "1" },
    together: { type: "boolean", default: false },
    set: { type: "string", multiple: true, default: [] },
    results: { type: "string", default: join(import.meta.dirname, "results") },
  },
});
const script = positionals[0] ?? "turns";
const preset = presets[script];
if (preset === undefined || positionals.length > 1) leave(`Scripts: ${Object.keys(presets).join(", ")}.`);
if (script !== "turns" && (values.rounds !== undefined || values.cold || values.session !== "new"))
  leave("--rounds, --cold and --session are for turns.");
const isCompared = values.rounds !== undefined || values.cold;
const modesPreset = isCompared ? "bare,json,stream" : "direct,json,stream";
const modes = script === "turns" ? (values.modes ?? modesPreset).split(",") : [null];
const clientNumbers = (values.clients ?? preset.clients).split(",");
const isTenth = values.session === "tenth";
if (isTenth && values.cold)
  leave("Sessions are written before a round, so none begins with a start: --cold or --session tenth.");
if (isTenth && modes[0] !== bareMode) leave("With --session tenth, bare has to be the first of --modes.");
/** Turns that the service may run in a round for each that the bare endpoint runs: for so many there are sessions. */
const turnsOfBareMax = 3;
let hasHead = false;
let crossedRuns = 0;

await mkdir(values.results, { recursive: true });
const scripts = await mkdtemp(join(tmpdir(), "parley-k6-"));
try {
  await compileScripts(scripts);
  if (isCompared) await compare();
  else await runEach();
} finally {
  await rm(scripts, { recursive: true });
}
process.exit(crossedRuns === 0 ? 0 : 1);

/** Runs each mode with each number of clients, once. */
async function runEach(): Promise<void> {
  await using fresh = await open();
  for (const clients of clientNumbers) for (const mode of modes) await fresh.run(mode, clients);
}

/** Runs the modes in turn, and prints how they compare. */
async function compare(): Promise<void> {
  const rounds = Number(values.rounds ?? 3);
  const asked = modes.filter((mode) => mode !== null);
  if (values.cold) {
    for (const clients of clientNumbers)
      for (const mode of asked.filter((name) => name !== bareMode && name !== directMode)) {
        const start = async () => {
          const { run, ...fresh } = await open();
          return { ...fresh, measure: (name: string) => run(name, clients) };
        };
        printComparison(Number(clients), await coldRounds(mode, rounds, start));
      }
    return;
  }
  await using fresh = await open();
  for (const clients of clientNumbers)
    printComparison(Number(clients), await warmRounds(asked, rounds, (mode) => fresh.run(mode, clients)));
}

/** A new installation. `run` runs the script against it once, prints its figures, and returns what rounds compare. */
async function open(): Promise<{ run(mode: string | null, clients: string): Promise<Measured> } & AsyncDisposable> {
  const opened = new AsyncDisposableStack();
  const platforms = await startPlatforms();
  opened.defer(() => platforms.stop());
  const stand = opened.use(
    await startStand({ workers: Number(values.workers), together: values.together, env: platforms.env }),
  );
  const sql = postgres(stand.databaseUrl, { max: 1, onnotice: () => {} });
  opened.defer(() => sql.end());
  const tenths = new Tenths(sql, stand);
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
    BARE_URL: stand.bareUrl,
    STAND_URL: `http://127.0.0.1:${told.port}`,
    DURATION: values.duration ?? preset?.duration ?? "",
    ...Object.fromEntries(values.set.map((setting) => setting.split(/=(.*)/s).slice(0, 2))),
  };
  let bareTurns = 0;
  /** Writes the file of the sessions whose turns are run, of which each is used once. */
  const writeConversations = async (path: string, mode: string | null) => {
    const count = mode === bareMode || mode === directMode ? 0 : bareTurns * turnsOfBareMax + 1_000;
    await tenths.prepare(count);
    await writeFile(path, JSON.stringify({ ids: tenths.takeAll(count), messages: earlierMessages }));
  };
  const run = async (mode: string | null, clients: string): Promise<Measured> => {
    const chat =
      script === "webhooks" ? { CHAT: JSON.stringify(await platforms.connect(stand.call, stand.agentId)) } : {};
    const isOne = modes.length === 1 && clientNumbers.length === 1;
    const parts = [...(mode === null ? [] : [mode]), ...(isOne ? [] : [clients])];
    const results = await freeName([day(), script, ...parts].join("-"));
    const conversations = isTenth ? { CONVERSATIONS: `${results}-sessions.txt` } : {};
    if (conversations.CONVERSATIONS !== undefined) await writeConversations(conversations.CONVERSATIONS, mode);
    watch.begin();
    const more = { CLIENTS: clients, RESULTS: results, ...(mode === null ? {} : { MODE: mode }) };
    const code = await k6({ ...env, ...more, ...chat, ...conversations });
    if (conversations.CONVERSATIONS !== undefined) await rm(conversations.CONVERSATIONS);
    if (code !== 0) crossedRuns += 1;
    const { figures, metrics } = JSON.parse(await readFile(`${results}.json`, "utf8")) as Result;
    show(figures);
    process.stderr.write(`${results}.html\n`);
    const measured = measuredOf(metrics);
    if (mode === bareMode) bareTurns = measured.turns;
    return measured;
  };
  return { run, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** What a run has measured. */
interface Result {
  readonly figures: Readonly<Record<string, string>>;
  readonly metrics: Readonly<Record<string, { readonly values: Readonly<Record<string, number>> }>>;
}

/** What rounds compare of a run of `turns`. */
function measuredOf({ turns, first_byte_ms, turn_ms, turn_failed }: Result["metrics"]): Measured {
  return {
    turns: turns?.values.count ?? 0,
    turnsPerSecond: turns?.values.rate ?? 0,
    firstTextMs: first_byte_ms?.values.med ?? 0,
    turnMs: turn_ms?.values.med ?? 0,
    // k6 counts what is true as passed, and here it is true that a turn failed.
    failed: turn_failed?.values.passes ?? 0,
  };
}

/** Prints a row of the table, the first one below its head. */
function show(figures: Result["figures"]): void {
  const columns = Object.keys(figures);
  if (!hasHead) printLine(`| ${columns.join(" | ")} |\n|${"---|".repeat(columns.length)}`);
  hasHead = true;
  printLine(`| ${Object.values(figures).join(" | ")} |`);
}

/** Runs k6 once, silent but for its warnings. Returns its exit code, which says whether all bounds held. */
function k6(env: Record<string, string>): Promise<number> {
  const set = Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
  const path = join(scripts, `${script}.js`);
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
