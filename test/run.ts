/**
 * Runs the tests: one real Postgres (the embedded one) and, where a
 * `redis-server` is on the path, one real Redis, for the whole run; then
 * `bun test` with the given arguments. Ends with one line of totals.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { startEmbeddedPostgres } from "../src/embedded/postgres.ts";
import { createLogger } from "../src/log.ts";
import { migrate } from "../src/migrate.ts";
import { findRedisServer, startRedis } from "./redis.ts";

const home = await mkdtemp(join(tmpdir(), "parley-test-"));
const database = await startEmbeddedPostgres({ home, fast: true, log: () => {} });
const redis = findRedisServer() === null ? null : await startRedis();
let exitCode = 1;
try {
  const template = await makeTemplate(database.url);
  exitCode = await runTests({ PARLEY_TEST_DATABASE_URL: template, PARLEY_TEST_REDIS_URL: redis?.url ?? "" });
} finally {
  await redis?.stop();
  await database.stop();
  await rm(home, { recursive: true, force: true });
}
process.exit(exitCode);

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
  const args = ["test", "--timeout", "30000", ...process.argv.slice(2)];
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
      process.stdout.write(`${count("pass")} passed, ${count("fail")} failed, ${count("skip")} skipped\n`);
      resolve(code ?? 1);
    });
  });
}
