/** A process that holds an embedded Postgres until it is killed: prints its URL, or why it could not start, on one line. */
import { startEmbeddedPostgres } from "../../src/embedded/postgres.ts";

const [, , home = "", mode] = process.argv;
// Ctrl-C asks a service to drain: it goes on for a while.
process.on("SIGINT", () => process.stdout.write("draining\n"));
try {
  const database = await startEmbeddedPostgres({ home, fast: mode === "fast", log: () => {} });
  process.stdout.write(`${database.url}\n`);
  process.stdin.resume();
} catch (error) {
  process.stdout.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
