import { retry } from "../kernel/async/retry.ts";
import { isCertificateRefused, isTransient, isUnavailable } from "../kernel/database/failure.ts";
import { missingMigrations, OldNumberingError } from "../kernel/database/migrate.ts";
import { openOneConnection } from "../kernel/database/one-connection.ts";
import { noTlsCode } from "../kernel/database/secured.ts";
import { databaseWaitMs } from "../kernel/limits.ts";
import { OperatorError, reasonOf } from "./operator-error.ts";
import { refuseTransactionPooler } from "./pooler.ts";

/** Pause between two attempts to reach a database that is still starting. */
const pauseMs = 250;

/**
 * Checks that a database can be worked on: it responds, takes writes, gives each connection its own session, and has
 * every migration. Throws `OperatorError`.
 */
export async function checkDatabase(databaseUrl: string): Promise<void> {
  await reach(() => refuseReadOnly(databaseUrl));
  await reach(() => refuseTransactionPooler(databaseUrl));
  const missing = await reach(() => missingMigrations(databaseUrl));
  if (missing.length === 0) return;
  throw new OperatorError(
    `The database lacks ${missing.length} migration(s), from ${missing[0]} on. Run \`npm run migrate\` first.`,
  );
}

/**
 * Checks that a pooler leads to the same database, and allows transactions: what is locked on the one has to be what is
 * written through the other. Throws `OperatorError`.
 */
export async function checkPooler(databaseUrl: string, poolUrl: string | null): Promise<void> {
  if (poolUrl === null) return;
  await reach(async () => {
    const [direct, pooled] = await Promise.all([identityOf(databaseUrl), identityOf(poolUrl)]);
    if (direct === pooled) return;
    throw new OperatorError("DATABASE_POOL_URL leads to another database than DATABASE_URL.");
  }, "DATABASE_POOL_URL");
}

/** Returns what tells a database from any other, and one start of its server from the next. Throws where there are no transactions. */
async function identityOf(url: string): Promise<string> {
  const sql = openOneConnection(url, { prepare: false, isNameless: true });
  try {
    const [row] = await sql.begin(
      (inner) => inner<{ identity: string }[]>`
        select concat_ws(' ', current_database(), extract(epoch from pg_postmaster_start_time())) as identity`,
    );
    return row?.identity ?? "";
  } finally {
    await sql.end({ timeout: 0 });
  }
}

/** Throws `OperatorError` when the server takes no writes, as a standby. */
export async function refuseReadOnly(databaseUrl: string): Promise<void> {
  const sql = openOneConnection(databaseUrl);
  try {
    const [row] = await sql<{ standby: boolean; read_only: boolean }[]>`
      select pg_is_in_recovery() as standby, current_setting('transaction_read_only')::bool as read_only`;
    if (row === undefined || !row.read_only) return;
    const what = row.standby ? "a standby, which takes no writes" : "a database that takes no writes";
    throw new OperatorError(`DATABASE_URL leads to ${what}. Name the primary, or all its hosts.`);
  } finally {
    await sql.end({ timeout: 0 });
  }
}

/** Repeats `ask`, because the database may still be starting, for up to `databaseWaitMs`. Returns its result; throws `OperatorError` when the database cannot be reached. */
export async function reach<T>(ask: () => Promise<T>, name: DatabaseVariable = "DATABASE_URL"): Promise<T> {
  try {
    return await retry(ask, {
      limitMs: databaseWaitMs,
      pauseMsMin: pauseMs,
      pauseMsMax: pauseMs,
      retryIf: (error) => !(error instanceof OperatorError) && isTransient(error),
    });
  } catch (error) {
    throw error instanceof OperatorError ? error : explained(error, name);
  }
}

/** The variables that name the database. */
type DatabaseVariable = "DATABASE_URL" | "DATABASE_POOL_URL";

/** Returns an error of the database that a variable names as the operator is told it. */
export function explained(error: unknown, name: DatabaseVariable = "DATABASE_URL"): unknown {
  if (error instanceof OldNumberingError) return new OperatorError(error.message);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const way = isCertificateRefused(error) ? certificateWayOut : wayOut(code, isUnavailable(error));
  if (way === null) return error;
  return new OperatorError(`Cannot use the database that ${name} names: ${reasonOf(error)}. ${way}`);
}

const certificateWayOut =
  "Name the certificate of its authority in NODE_EXTRA_CA_CERTS (DENO_CERT on Deno), or take sslmode=require, which asks for none.";

/** Returns what the operator can do about an error; null when they can do nothing. SQLSTATE class 28 is a refused login, 3D000 a database that does not exist. */
function wayOut(code: string, unavailable: boolean): string | null {
  if (code.startsWith("28")) return "Check the user and the password in it.";
  if (code === "53300")
    return "It has no connection left for this process: raise max_connections, or lower HTTP_CONNECTIONS and WORKER_CONNECTIONS.";
  if (code === noTlsCode) return "Switch TLS on there, or leave sslmode out.";
  if (code.startsWith("3D")) return "Create it (`createdb`), or name another one.";
  return unavailable ? "Check its host and port, and that Postgres runs there." : null;
}
