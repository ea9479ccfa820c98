import { hasDatabase } from "../embedded/place.ts";
import { startEmbeddedPostgres } from "../embedded/postgres.ts";
import { sleep } from "../kernel/async/wait.ts";
import type { Config } from "../kernel/config.ts";
import { openDatabase, type Sql } from "../kernel/database/client.ts";
import { migrate } from "../kernel/database/migrate.ts";
import { openOneConnection } from "../kernel/database/one-connection.ts";
import type { Logger } from "../kernel/telemetry/log.ts";
import { checkDatabase, reach, refuseReadOnly } from "../roles/database.ts";
import { OperatorError, reasonOf } from "../roles/operator-error.ts";
import { refuseTransactionPooler } from "../roles/pooler.ts";
import { findRunning } from "../roles/running.ts";

/** A command needs one connection; with a second one, a slow statement does not block it. */
const connectionsMax = 2;
/** A service that is just starting or stopping has locked its home, but its database cannot be reached; a command waits this long for either. */
const homeWaitMs = 15_000;
const pauseMs = 200;
/** A database that is there responds well within this. */
const probeSeconds = 3;

/**
 * Runs a command of the operator on the migrated database that `DATABASE_URL` names or, without it, on the home's
 * own: the one of the service that runs there, else the same one started for the command. Returns the command's
 * result; throws `OperatorError`, also where the home has no database yet.
 */
export async function onDatabase<T>(config: Config, log: Logger, command: (sql: Sql) => Promise<T>): Promise<T> {
  await using opened = new AsyncDisposableStack();
  const url = config.databaseUrl ?? (await findHomesDatabase(config.home, log, opened)).url;
  if (config.databaseUrl !== null) await checkDatabase(url);
  const sql = openDatabase({ url, max: connectionsMax, applicationName: "parley-command" });
  opened.defer(() => sql.end({ timeout: 5 }));
  return await command(sql);
}

/** Brings the schema up to date: of `DATABASE_URL`, or of the home's own database. Throws `OperatorError`. */
export async function migrateDatabase(config: Config, log: Logger): Promise<void> {
  const { databaseUrl } = config;
  await using opened = new AsyncDisposableStack();
  if (databaseUrl !== null) {
    await reach(() => refuseReadOnly(databaseUrl));
    await reach(() => refuseTransactionPooler(databaseUrl));
  }
  const applied =
    databaseUrl === null
      ? (await findHomesDatabase(config.home, log, opened)).applied
      : await reach(() => migrate(databaseUrl, log));
  if (applied === 0) log.info("nothing to do: the schema is up to date");
}

/** Returns the URL of the home's own database, running and migrated, and how many migrations were applied for that. */
async function findHomesDatabase(
  home: string,
  log: Logger,
  opened: AsyncDisposableStack,
): Promise<{ readonly url: string; readonly applied: number }> {
  const expiresAt = Date.now() + homeWaitMs;
  // A new database would print keys that no service knows.
  if (!(await hasDatabase(home)))
    throw new OperatorError(
      `DATABASE_URL is not set, and there is no database in ${home}. Set DATABASE_URL to the installation's, or PARLEY_HOME to the folder of \`npm start\`.`,
    );
  for (;;) {
    const running = await findRunning(home);
    // The service that runs there has migrated it.
    if (running !== null && (await serves(running.databaseUrl))) return { url: running.databaseUrl, applied: 0 };
    try {
      const server = await startEmbeddedPostgres({ home, log: (message) => log.info(message) });
      opened.defer(() => server.stop());
      return { url: server.url, applied: await migrate(server.url, log) };
    } catch (error) {
      const inUse = error instanceof Error && error.message.startsWith("Another instance is using");
      if (!inUse || Date.now() > expiresAt) throw new OperatorError(reasonOf(error));
      await sleep(pauseMs);
    }
  }
}

/** Returns whether the announced database is there: a killed service leaves its announcement behind. */
async function serves(databaseUrl: string): Promise<boolean> {
  const sql = openOneConnection(databaseUrl, { connectSeconds: probeSeconds });
  try {
    await sql`select 1`;
    return true;
  } catch {
    return false;
  } finally {
    await sql.end({ timeout: 0 });
  }
}
