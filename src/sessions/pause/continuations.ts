import type { AnySql } from "../../kernel/database/client.ts";
import type { IdOf } from "../../kernel/ids.ts";

/** What resumes a turn once its approvals are decided and its calls of client tools have results. */
export interface Continuation {
  readonly id: IdOf<"continuation">;
  readonly status: "waiting" | "queued" | "running" | "succeeded" | "failed";
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
}

interface ContinuationRow {
  id: IdOf<"continuation">;
  status: Continuation["status"];
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
}

/** Returns a session's latest continuation; null when no turn of it has ever stopped to ask. */
export async function latestContinuation(sql: AnySql, sessionId: string): Promise<Continuation | null> {
  const [row] = await sql<ContinuationRow[]>`
    select /* continuation.newest */ * from continuations where session_id = ${sessionId} order by created_at desc, id desc limit 1`;
  return row === undefined ? null : showContinuation(row);
}

/** Returns a continuation that is known to exist. */
export async function continuationById(sql: AnySql, id: string): Promise<Continuation> {
  const [row] = await sql<ContinuationRow[]>`select /* continuation.read */ * from continuations where id = ${id}`;
  return showContinuation(row as ContinuationRow);
}

function showContinuation(row: ContinuationRow): Continuation {
  return {
    id: row.id,
    status: row.status,
    createdAt: row.createdAt.toISOString(),
    startedAt: row.startedAt?.toISOString() ?? null,
    finishedAt: row.finishedAt?.toISOString() ?? null,
  };
}
