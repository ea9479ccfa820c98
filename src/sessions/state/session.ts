import { type AnySql, json } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";
import { type UnfinishedTurns, unfinishedTurnsSql } from "./pending.ts";
import { type SessionRow, type SessionSummary, showSummary, summaryColumns } from "./store.ts";

/** A session as it is read by its id. */
export interface SessionDetails extends SessionSummary, UnfinishedTurns {
  /** Whether it has a turn that has not ended. */
  readonly busy: boolean;
}

/**
 * Returns a session and its unfinished turns. Form A's session whose first turn has not
 * succeeded yet is there while that turn is: by its id it can be followed and canceled too.
 * Throws 404.
 */
export async function readSession(
  sql: AnySql,
  tenantId: string,
  agentId: string,
  sessionId: string,
): Promise<SessionDetails> {
  const [row] = await sql<(SessionRow & UnfinishedTurns & { visible: boolean })[]>`
    select /* session.read */ ${summaryColumns(sql)}, s.visible, u.* from sessions s cross join lateral (${unfinishedTurnsSql(sql, sql`s.id`)}) u
    where s.id = ${sessionId} and s.tenant_id = ${tenantId} and s.agent_id = ${agentId} and s.deleted_at is null
      and exists (select 1 from agents a where a.id = s.agent_id)`;
  if (row === undefined) throw new ApiError("not_found");
  const { activeTurnId, queuedTurns, pending } = row;
  const busy = activeTurnId !== null || queuedTurns > 0;
  if (!row.visible && !busy) throw new ApiError("not_found");
  return { ...showSummary(row), busy, activeTurnId, queuedTurns, pending };
}

/** Replaces a session's metadata. Returns it as it was. Throws 404. */
export async function replaceMetadata(
  inner: AnySql,
  session: { readonly tenantId: string; readonly agentId: string; readonly sessionId: string },
  metadata: object,
): Promise<SessionDetails> {
  const { tenantId, agentId, sessionId } = session;
  // Locked first, so that what the audit event compares with is what is replaced.
  await inner`select /* session.lock */ 1 from sessions where id = ${sessionId} and tenant_id = ${tenantId} for no key update`;
  const before = await readSession(inner, tenantId, agentId, sessionId);
  await inner`update /* session.update */ sessions set metadata = ${json(inner, metadata)}, updated_at = now() where id = ${sessionId}`;
  return before;
}
