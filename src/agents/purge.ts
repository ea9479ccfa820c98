import type { Sql } from "../kernel/database/client.ts";

/** Removes what a slice holds for a deleted agent. Safe to repeat. */
export type AgentPurge = (sql: Sql, agentId: string) => Promise<void>;

/**
 * The job `agent.purge`: removes what a deleted agent left, slice by slice. The
 * slices stand above this one, so their purges are handed in. Safe to repeat, and
 * does nothing while the agent exists.
 */
export async function purgeAgent(sql: Sql, agentId: string, purges: readonly AgentPurge[]): Promise<void> {
  const [agent] = await sql`select 1 from agents where id = ${agentId}`;
  if (agent !== undefined) return;
  for (const purge of purges) await purge(sql, agentId);
}
