import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Logger as QueueLogger, runMigrations } from "graphile-worker";
import { Pool } from "pg";
import type postgres from "postgres";
import { sleep } from "../async/wait.ts";
import type { Logger } from "../telemetry/log.ts";
import { addressOf } from "./address.ts";
import { openOneConnection } from "./one-connection.ts";
import { queueIndexes } from "./queue-indexes.ts";
import { schemaLockMs, withShortLocks } from "./short-locks.ts";
import { addressedSocket } from "./socket.ts";

const migrationsFolder = join(import.meta.dirname, "../../../sql");
/** A number and a topic; `sql/README.md` has the rules. */
const migrationName = /^\d{3}_[a-z_]+\.sql$/;
/** Before 0.2 the numbers had four digits, so that no name of then is one of today's. */
const nameBeforeBaseline = /^\d{4}_/;
/** Any fixed number: a process that migrates holds this advisory lock, so that several processes may start at once. */
const migrationLock = 7_246_119;
/** The logger for the queue's own migrations, which logs nothing: failures are thrown. */
const silentQueueLogger = new QueueLogger(() => () => {});
/** A migration takes the time that it takes, whatever its role or its database has as a limit. */
const withoutLimits = "set statement_timeout = 0; set idle_in_transaction_session_timeout = 0";
const shortLocks = `set lock_timeout = ${schemaLockMs}`;
/** A process waits this long for another one that migrates. */
const migrationLockWaitMs = 60_000;
/** How often it looks whether that one has finished. */
const migrationLockPollMs = 100;

/** A database of a version before 0.2, which cannot be migrated. The message is one line for the operator. */
export class OldNumberingError extends Error {
  override readonly name = "OldNumberingError";

  constructor(applied: string) {
    super(
      `The database was migrated by a version before 0.2 (${applied}), which was never released, and cannot be upgraded. Name an empty database in DATABASE_URL; without DATABASE_URL, name another folder in PARLEY_HOME, or delete the one it names (\`.parley\` where it is not set).`,
    );
  }
}

/** Returns the names of all migrations, in order. */
export async function listMigrations(): Promise<string[]> {
  return (await readdir(migrationsFolder)).filter((name) => migrationName.test(name)).sort();
}

/**
 * Brings the schema up to date: ours (each file of `sql/` once, in order, in its
 * own transaction) and the queue's. Safe to run from several processes at once.
 * Migrations of a newer version are ignored, so that an older version may run
 * on its schema. Returns how many files were applied. Throws `OldNumberingError`.
 */
export async function migrate(databaseUrl: string, log: Logger): Promise<number> {
  const sql = openOneConnection(databaseUrl, { begin: `${withoutLimits}; ${shortLocks}` });
  try {
    await waitForOthers(sql);
    await sql`create table if not exists schema_migrations (name text primary key, applied_at timestamptz not null default now())`;
    const applied = await readApplied(sql);
    const missing = (await listMigrations()).filter((name) => !applied.has(name));
    for (const name of missing) {
      const text = await readFile(join(migrationsFolder, name), "utf8");
      const apply = () =>
        sql.begin(async (tx) => {
          await tx.unsafe(text);
          await tx`insert into schema_migrations (name) values (${name})`;
        });
      await withShortLocks(apply);
      log.info({ migration: name }, "migration applied");
    }
    await withShortLocks(() => migrateQueue(databaseUrl));
    await indexJobs(sql);
    return missing.length;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Returns the names of the applied migrations, those of a newer version too. */
async function readApplied(sql: postgres.Sql): Promise<ReadonlySet<string>> {
  const names = (await sql<{ name: string }[]>`select name from schema_migrations order by name`).map(
    (row) => row.name,
  );
  const old = names.find((name) => nameBeforeBaseline.test(name));
  if (old !== undefined) throw new OldNumberingError(old);
  return new Set(names);
}

/** Waits until no other process migrates. Asks again and again, because a statement that waits would hold up an index that is made concurrently. */
async function waitForOthers(sql: postgres.Sql): Promise<void> {
  const expiresAt = Date.now() + migrationLockWaitMs;
  for (;;) {
    const [row] = await sql<{ got: boolean }[]>`select pg_try_advisory_lock(${migrationLock}) as got`;
    if (row?.got) return;
    if (Date.now() > expiresAt) throw new Error("Another process has been migrating this database for a minute.");
    await sleep(migrationLockPollMs);
  }
}

/** Runs the queue's own migrations. */
async function migrateQueue(databaseUrl: string): Promise<void> {
  const address = addressOf(databaseUrl);
  const pool = new Pool({
    connectionString: address.url,
    max: 1,
    stream: () => addressedSocket(address),
    // The pool awaits it before it hands the connection out, although its type is `void`.
    onConnect: (client) => client.query(`${withoutLimits}; ${shortLocks}`) as unknown as undefined,
  });
  // A connection that breaks fails its query, which tells.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  try {
    await runMigrations({ pgPool: pool, logger: silentQueueLogger });
  } finally {
    await pool.end();
  }
}

/**
 * Makes the indexes that the queue lacks, concurrently: jobs are added and run meanwhile.
 * What an attempt that was broken off has left is made anew.
 */
async function indexJobs(sql: postgres.Sql): Promise<void> {
  for (const { name, columns } of queueIndexes) {
    const [known] = await sql<{ valid: boolean }[]>`
      select indisvalid as valid from pg_index where indexrelid = to_regclass(${`graphile_worker.${name}`})`;
    if (known?.valid) continue;
    if (known !== undefined)
      await withShortLocks(() => sql.unsafe(`drop index concurrently if exists graphile_worker.${name}`));
    // It waits for those who read, and they do not wait for it.
    await sql`set lock_timeout = 0`;
    await sql.unsafe(`create index concurrently ${name} on graphile_worker._private_jobs ${columns}`);
    await sql`set lock_timeout = ${sql.unsafe(String(schemaLockMs))}`;
  }
}

/** Returns the names of migrations that the database lacks. A database without our schema lacks all. Throws `OldNumberingError`. */
export async function missingMigrations(databaseUrl: string): Promise<string[]> {
  const sql = openOneConnection(databaseUrl);
  try {
    const [known] = await sql<{ present: boolean }[]>`select to_regclass('schema_migrations') is not null as present`;
    const applied = known?.present ? await readApplied(sql) : new Set<string>();
    return (await listMigrations()).filter((name) => !applied.has(name));
  } finally {
    await sql.end({ timeout: 5 });
  }
}
