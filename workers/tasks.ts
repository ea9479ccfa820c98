import type { TaskList } from "graphile-worker";
import { purgeAgent } from "../src/agents/purge.ts";
import type { JobName, JobPayloads } from "../src/jobs.ts";
import { runTurnJob, type TurnRunner } from "../src/sessions/run.ts";
import { purgeTenant } from "../src/tenants/purge.ts";

/** Job name → slice function; a name without a function does not compile. */
export function taskList(runner: TurnRunner): TaskList {
  const { ctx } = runner;
  return {
    turn: (payload) => runTurnJob(runner, payload as never),
    "agent.purge": (payload) => purgeAgent(ctx, (payload as JobPayloads["agent.purge"]).agentId),
    "tenant.purge": (payload) => purgeTenant(ctx, (payload as JobPayloads["tenant.purge"]).tenantId),
  } satisfies Record<JobName, TaskList[string]>;
}
