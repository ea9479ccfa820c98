import type { Ctx } from "../kernel/context.ts";
import { type Pace, paced } from "../kernel/database/pace.ts";
import { eraseResponses } from "../kernel/http/erase-keys.ts";
import { addJob } from "../kernel/queue/add-job.ts";
import type { JobPayloads } from "../kernel/queue/catalogue.ts";

/** What the removal of an agent's rows needs, and how far this job may go. */
export interface AgentPurgeScope extends Pick<Ctx, "sql" | "relay"> {
  readonly pace: Pace;
}

/** Removes what a slice holds for a deleted agent. Safe to repeat. */
export type AgentPurge = (scope: AgentPurgeScope, agentId: string, tenantId: string) => Promise<void>;

/**
 * The job `agent.purge`: removes what a deleted agent left, slice by slice, and goes on
 * in another job when that takes long. The slices stand above this one, so their purges
 * are handed in. Safe to repeat, and does nothing while the agent exists.
 */
export async function purgeAgent(
  { sql, relay }: Pick<Ctx, "sql" | "relay">,
  payload: JobPayloads["agent.purge"],
  purges: readonly AgentPurge[],
): Promise<void> {
  const { agentId, tenantId } = payload;
  const [agent] = await sql`select 1 from agents where id = ${agentId}`;
  if (agent !== undefined) return;
  await paced(
    async (pace) => {
      await eraseResponses(sql, [agentId], pace);
      for (const purge of purges) await purge({ sql, relay, pace }, agentId, tenantId);
    },
    () => addJob(sql, "agent.purge", payload, { keySuffix: ":on" }),
  );
}
