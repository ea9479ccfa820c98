/**
 * Runs the tests: one real Postgres (the embedded one) and, where a
 * `redis-server` is on the path, one real Redis, for the whole run; then
 * `bun test` with the given arguments. Ends with one line of totals.
 *
 * `--on bun`, `--on deno` and `--on mixed` run the tests that talk to the service,
 * with the service as processes of its own on that runtime (`runtimes.ts`).
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { startEmbeddedPostgres } from "../src/embedded/postgres.ts";
import { migrate } from "../src/kernel/database/migrate.ts";
import { createLogger } from "../src/kernel/telemetry/log.ts";
import { findRedisServer, startRedis } from "./harness/redis.ts";
import { type RuntimeChoice, runtimeChoices } from "./harness/runtimes.ts";
import { filesOnTheService } from "./harness/service-files.ts";

/** Many tests wait, for a limit or for another process, and each file has a database of its own. More at once would make limits of time fail on a busy machine. */
const filesAtOnce = 2;

const { runtime, words } = readArguments(process.argv.slice(2));

const home = await mkdtemp(join(tmpdir(), "parley-test-"));
const database = await startEmbeddedPostgres({ home, fast: true, log: () => {} });
const redis = findRedisServer() === null ? null : await startRedis();
let exitCode = 1;
try {
  const template = await makeTemplate(database.url);
  exitCode = await runTests({
    PARLEY_TEST_DATABASE_URL: template,
    PARLEY_TEST_REDIS_URL: redis?.url ?? "",
    PARLEY_TEST_RUNTIME: runtime,
  });
} finally {
  await redis?.stop();
  await database.stop();
  await rm(home, { recursive: true, force: true });
}
process.exit(exitCode);

/** Takes `--on` out of the arguments; without files of its own, such a run is of all that talk to the service. */
function readArguments(args: readonly string[]): { runtime: RuntimeChoice; words: readonly string[] } {
  const place = args.indexOf("--on");
  if (place < 0) return { runtime: "process", words: args };
  const runtime = runtimeChoices.find((known) => known === args[place + 1]);
  if (runtime === undefined) throw new Error(`--on takes one of ${runtimeChoices.join(", ")}.`);
  const words = args.filter((_, index) => index !== place && index !== place + 1);
  const named = words.some((word) => !word.startsWith("-"));
  return { runtime, words: named || runtime === "process" ? words : [...words, ...filesOnTheService()] };
}

/** A migrated database that each test file clones. */
async function makeTemplate(url: string): Promise<string> {
  const admin = postgres(url, { max: 1, onnotice: () => {} });
  await admin`create database parley_template`;
  await admin.end();
  const template = new URL(url);
  template.pathname = "/parley_template";
  await migrate(template.href, createLogger("warn"));
  return template.href;
}

function runTests(env: Record<string, string>): Promise<number> {
  const args = ["test", "--timeout", "60000", `--parallel=${filesAtOnce}`, "--no-isolate", ...words];
  const child = spawn(process.execPath, args, { stdio: ["inherit", "pipe", "pipe"], env: { ...process.env, ...env } });
  let tail = "";
  for (const [stream, sink] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ] as const) {
    stream.on("data", (data: Buffer) => {
      sink.write(data);
      tail = (tail + data.toString()).slice(-4_000);
    });
  }
  return new Promise((resolve) => {
    child.on("close", (code) => {
      const count = (word: string) => Number(new RegExp(`^\\s*(\\d+) ${word}$`, "m").exec(tail)?.[1] ?? 0);
      // An error outside of every test ("2 errors") fails the run too, so it is counted.
      const failed = count("fail") + Math.max(count("error"), count("errors"));
      process.stdout.write(`${count("pass")} passed, ${failed} failed, ${count("skip")} skipped\n`);
      resolve(code ?? 1);
    });
  });
}
