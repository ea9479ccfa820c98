import { cancelTurns } from "../agents/store.ts";
import type { Sql, Tx } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import { addJob } from "../kernel/queue/add-job.ts";

/**
 * Sessions found by one scan. Far more than go in one batch, because every scan
 * walks over what the earlier batches deleted.
 */
const sessionsPerScan = 20_000;
/** Sessions whose rows are deleted together. */
const sessionsPerBatch = 200;
/** Messages that one statement deletes. */
const messagesPerBatch = 2_000;
/** A purge that found turns that have not ended is repeated after this time. */
const retryAfterMs = 15_000;

/**
 * Removes the sessions of a deleted agent with their messages and ended turns, in
 * batches, so that no statement runs long. Usage stays. Sessions with a turn that has not
 * ended yet stay, because its end is still to be metered; the job `agent.purge` then runs
 * again. Safe to repeat.
 */
export async function purgeSessions(sql: Sql, agentId: string): Promise<void> {
  // A turn may have been accepted while the agent was being deleted.
  await cancelTurns(sql, agentId);
  for (;;) {
    const ids = await findSessions(sql, agentId);
    for (let at = 0; at < ids.length; at += sessionsPerBatch)
      await deleteSessions(sql, ids.slice(at, at + sessionsPerBatch));
    if (ids.length < sessionsPerScan) break;
  }
  const [left] = await sql`
    select 1 from turns where agent_id = ${agentId} and status in ('queued', 'running', 'waiting') limit 1`;
  if (left === undefined) return;
  const runAt = new Date(Date.now() + retryAfterMs);
  await addJob(sql, "agent.purge", { agentId }, { runAt, keySuffix: ":again" });
}

/** Sessions of an agent in which every turn has ended. */
async function findSessions(sql: Sql, agentId: string): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select s.id from sessions s where s.agent_id = ${agentId} and not exists (
      select 1 from turns t where t.session_id = s.id and t.status in ('queued', 'running', 'waiting'))
    limit ${sessionsPerScan}`;
  return rows.map((row) => row.id);
}

async function deleteSessions(sql: Sql, ids: string[]): Promise<void> {
  for (;;) {
    const { count } = await byIndex(
      sql,
      (inner) => inner`
        delete from messages where (session_id, seq) in (
          select session_id, seq from messages where session_id = any(${ids}) limit ${messagesPerBatch})`,
    );
    if (count < messagesPerBatch) break;
  }
  await byIndex(
    sql,
    (inner) => inner`
      delete from turns where session_id = any(${ids}) and status in ('succeeded', 'failed', 'canceled')`,
  );
  await sql`delete from sessions where id = any(${ids})`;
}

/**
 * Runs a statement that must not read a whole table. With 200 ids and stale statistics
 * the planner chooses to: that took 25 ms a batch on 100,000 sessions, growing with the
 * table, and 2 ms by the index.
 */
function byIndex<T>(sql: Sql, work: (inner: Tx) => Promise<T>): Promise<T> {
  return tx(sql, async (inner) => {
    await inner`set local enable_seqscan = off`;
    return work(inner);
  });
}
