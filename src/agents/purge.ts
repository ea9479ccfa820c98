import type { Ctx } from "../context.ts";
import type { Sql } from "../db.ts";
import { enqueue } from "../jobs.ts";
import { cancelTurns } from "./store.ts";

/** Sessions whose rows go together. */
const sessionsPerBatch = 200;
/** Messages that one statement deletes. */
const messagesPerBatch = 2_000;
/** A purge that met turns still ending looks again after this long. */
const retryAfterMs = 15_000;

/**
 * Removes what a deleted agent left: its sessions, their messages and ended
 * turns, in batches, so that no statement runs long. Usage stays. Sessions with
 * a turn that has not ended yet wait for it, because its end is still to be
 * metered. Safe to repeat, and does nothing while the agent exists.
 */
export async function purgeAgent(ctx: Pick<Ctx, "sql">, agentId: string): Promise<void> {
  const { sql } = ctx;
  const [agent] = await sql`select 1 from agents where id = ${agentId}`;
  if (agent !== undefined) return;
  // A turn may have been accepted while the agent was being deleted.
  await cancelTurns(sql, agentId);
  while (await purgeSessions(sql, agentId));
  const [left] = await sql`
    select 1 from turns where agent_id = ${agentId} and status in ('queued', 'running', 'waiting') limit 1`;
  if (left === undefined) return;
  const runAt = new Date(Date.now() + retryAfterMs);
  await enqueue(sql, "agent.purge", { agentId }, { key: `agent.purge:${agentId}:again`, runAt });
}

/** Removes one batch of sessions. Answers whether there was any. */
async function purgeSessions(sql: Sql, agentId: string): Promise<boolean> {
  const rows = await sql<{ id: string }[]>`
    select s.id from sessions s where s.agent_id = ${agentId} and not exists (
      select 1 from turns t where t.session_id = s.id and t.status in ('queued', 'running', 'waiting'))
    limit ${sessionsPerBatch}`;
  if (rows.length === 0) return false;
  const ids = rows.map((row) => row.id);
  for (;;) {
    const { count } = await sql`
      delete from messages where (session_id, seq) in (
        select session_id, seq from messages where session_id = any(${ids}) limit ${messagesPerBatch})`;
    if (count < messagesPerBatch) break;
  }
  await sql`delete from turns where session_id = any(${ids}) and status in ('succeeded', 'failed', 'canceled')`;
  await sql`delete from sessions where id = any(${ids})`;
  return true;
}
