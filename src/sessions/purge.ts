import { cancelTurns } from "../agents/store.ts";
import { addJob } from "../kernel/queue/add-job.ts";
import { closeSessions, type EraseScope, eraseGenerations, eraseSessions } from "./erase/rows.ts";

/**
 * Sessions found by one scan. Far more than go in one batch, because every scan
 * walks over what the earlier batches deleted.
 */
const sessionsPerScan = 20_000;
/** Sessions whose rows are deleted together. */
const sessionsPerBatch = 200;
/** A purge that found turns that have not ended is repeated after this time. */
const retryAfterMs = 5_000;

/**
 * Erases the sessions and the stateless generations of a deleted agent, in batches, so
 * that no statement runs long. Usage stays. Sessions with a turn that has not ended yet
 * stay, because its end is still to be metered; the job `agent.purge` then runs again.
 * Safe to repeat.
 */
export async function purgeSessions(scope: EraseScope, agentId: string, tenantId: string): Promise<void> {
  const { sql } = scope;
  // A turn may have been accepted while the agent was being deleted.
  await cancelTurns(sql, tenantId, agentId);
  for (;;) {
    const ids = await findSessions(scope, agentId);
    for (let at = 0; at < ids.length; at += sessionsPerBatch) {
      scope.pace.step();
      await eraseSessions(scope, await closeSessions(sql, ids.slice(at, at + sessionsPerBatch)));
    }
    if (ids.length < sessionsPerScan) break;
  }
  await eraseGenerations(scope, agentId);
  // What is left had a turn that ran when it was looked for; the turn may have ended meanwhile.
  const [left] = await sql`
    select /* purge.is_left */ 1 from sessions where agent_id = ${agentId} union all
    select 1 from turns where agent_id = ${agentId} and session_id is null limit 1`;
  if (left === undefined) return;
  const runAt = new Date(Date.now() + retryAfterMs);
  await addJob(sql, "agent.purge", { agentId, tenantId }, { runAt, keySuffix: ":again" });
}

/** Sessions of an agent in which every turn has ended. */
async function findSessions({ sql }: EraseScope, agentId: string): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select /* purge.find_sessions */ s.id from sessions s where s.agent_id = ${agentId} and s.line = 0 and not exists (
      select 1 from turns t where t.session_id = s.id and t.status in ('queued', 'running', 'waiting'))
    limit ${sessionsPerScan}`;
  return rows.map((row) => row.id);
}
