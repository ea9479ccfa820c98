import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import { within } from "../kernel/async/wait.ts";
import { openOneConnection } from "../kernel/database/one-connection.ts";
import { OperatorError } from "./operator-error.ts";

/** How often it is tested whether the session changes. A pooler hands out its last used server first, or one after the other; either shows in the first rounds. */
const rounds = 3;
/** A statement that waits this long for a server waits for one that another connection holds. */
const roundMs = 2_000;

const refusal =
  "DATABASE_URL leads through a connection pooler in transaction mode, which loses the locks that sessions rest on. " +
  "Give the address of Postgres itself, or of a pool in session mode; the pooler's belongs in DATABASE_POOL_URL.";

/** The server's session behind a connection: its process, and the mark that was set there. */
interface ServerSession {
  readonly pid: number;
  readonly mark: string | null;
}

/**
 * Throws `OperatorError` when statements of one connection may run in different sessions of the server, as
 * behind a transaction pooler: session-level locks and settings would belong to other clients there.
 *
 * A direct connection is recognised by its process number, which the server reports at the start and in SQL.
 * Behind a pooler the two differ; then a mark is set in one connection's session, and read again while a
 * second connection holds a transaction open: in transaction mode that one then has the first one's server.
 */
export async function refuseTransactionPooler(databaseUrl: string): Promise<void> {
  const sql = connect(databaseUrl);
  try {
    const result = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
    const startPid = (result as unknown as { state: { pid: number } }).state.pid;
    if (result[0]?.pid === startPid) return;
    if (!(await keepsItsSession(sql, databaseUrl))) throw new OperatorError(refusal);
  } finally {
    await sql.end({ timeout: 0 });
  }
}

function connect(databaseUrl: string): postgres.Sql {
  // A transaction pooler may lose prepared statements, and the test must not fail by that.
  return openOneConnection(databaseUrl, { prepare: false });
}

async function keepsItsSession(sql: postgres.Sql, databaseUrl: string): Promise<boolean> {
  const mark = randomUUID();
  const [own] = await sql<
    ServerSession[]
  >`select pg_backend_pid() as pid, set_config('parley.mark', ${mark}, false) as mark`;
  const other = connect(databaseUrl);
  try {
    for (let round = 0; round < rounds; round++) {
      const seen = await readWhileOtherHolds(sql, other);
      if (seen === "other has no server") return true;
      if (seen === null || seen.pid !== own?.pid || seen.mark !== mark) return false;
    }
    return true;
  } finally {
    // In this order: the other connection may still wait for the server that this one owns.
    await sql.end({ timeout: 0 });
    await other.end({ timeout: roundMs / 1000 });
  }
}

/** Returns the connection's session while another connection holds a transaction open; null when it gets none, or transactions are refused. */
async function readWhileOtherHolds(
  sql: postgres.Sql,
  other: postgres.Sql,
): Promise<ServerSession | null | "other has no server"> {
  const held = Promise.withResolvers<"held">();
  const release = Promise.withResolvers<void>();
  const holding = other
    .begin(async (tx) => {
      await tx`select 1`;
      held.resolve("held");
      await release.promise;
    })
    .then(
      () => "released" as const,
      // Statement mode refuses transactions altogether.
      () => "refused" as const,
    );
  const start = await within(Promise.race([held.promise, holding]), roundMs, () => null);
  try {
    if (start === null) return "other has no server";
    if (start === "refused") return null;
    const session = sql<ServerSession[]>`select pg_backend_pid() as pid, current_setting('parley.mark', true) as mark`;
    return (await within(session, roundMs, () => null))?.[0] ?? null;
  } finally {
    release.resolve();
    if (start === "held") await within(holding, roundMs, () => null);
  }
}
