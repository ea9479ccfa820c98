import type { Task, TaskList } from "graphile-worker";
import { type AgentPurge, purgeAgent } from "../src/agents/purge.ts";
import { deliverThread } from "../src/chat/deliver.ts";
import { drainInbox } from "../src/chat/inbox.ts";
import { purgeChatConnection, purgeChatConnections } from "../src/chat/purge.ts";
import { sweepChatEvents } from "../src/chat/recover.ts";
import type { Ctx } from "../src/kernel/context.ts";
import { sweepKeys } from "../src/kernel/http/idempotency.ts";
import { observeJob } from "../src/kernel/http/observe-request.ts";
import { isPayload, type JobName, type JobPayloads } from "../src/kernel/queue/catalogue.ts";
import { spendAttempts } from "../src/kernel/queue/stored-jobs.ts";
import { deliverEvents } from "../src/merchant/deliver.ts";
import { purgeSessions } from "../src/sessions/purge.ts";
import { runTurnJob, type TurnRunner } from "../src/sessions/run/run.ts";
import { purgeLibrarySkill, purgeSkills } from "../src/skills/purge.ts";
import { beginRun } from "../src/tasks/begin-run.ts";
import { fireTask } from "../src/tasks/fire.ts";
import { purgeTasks } from "../src/tasks/purge.ts";
import { purgeTenant } from "../src/tenants/purge.ts";
import { sumUsage } from "../src/usage/sums.ts";
import { purgeWorkspace } from "../src/workspaces/remove.ts";

/** What goes with a deleted agent, in this order. The agents know nothing of the slices above them. */
export const agentPurges: readonly AgentPurge[] = [
  purgeSkills,
  purgeTasks,
  (sql, agentId) => purgeChatConnections(sql, { agentId }),
  purgeSessions,
];

/** Job name → slice function; a name without a function does not compile. */
export function taskList(runner: TurnRunner): TaskList {
  const { ctx, actor } = runner;
  return refuseMalformed(ctx, {
    turn: (payload) => runTurnJob(runner, payload as never),
    "task.run": (payload) => beginRun(ctx, (payload as JobPayloads["task.run"]).runId),
    "task.fire": (payload) => fireTask(ctx, payload as JobPayloads["task.fire"]),
    "chat.inbox": (payload) => drainInbox(ctx, (payload as JobPayloads["chat.inbox"]).threadId),
    "chat.deliver": (payload) => deliverThread(ctx, actor.workerId, (payload as JobPayloads["chat.deliver"]).threadId),
    "chat.purge": (payload) => purgeChatConnection(ctx, (payload as JobPayloads["chat.purge"]).connectionId),
    "chat.sweep": () => sweepChatEvents(ctx.sql),
    "agent.purge": (payload) => purgeAgent(ctx.sql, (payload as JobPayloads["agent.purge"]).agentId, agentPurges),
    "tenant.purge": (payload) => purgeTenant(ctx, (payload as JobPayloads["tenant.purge"]).tenantId),
    "workspace.purge": (payload) => purgeWorkspace(ctx, (payload as JobPayloads["workspace.purge"]).workspaceId),
    "skill.purge": (payload) => purgeLibrarySkill(ctx, (payload as JobPayloads["skill.purge"]).skillId),
    "merchant.deliver": (payload) =>
      deliverEvents(ctx, actor.workerId, (payload as JobPayloads["merchant.deliver"]).connectionId),
    "keys.sweep": () => sweepKeys(ctx.sql),
    "usage.sum": async () => void (await sumUsage(ctx.sql)),
  });
}

/**
 * A malformed job is a dead letter at once, with a word in the log: trying it again
 * would not mend it, and an operator can look at it (`queue list --dead`).
 */
function refuseMalformed({ log, sql }: Ctx, tasks: Record<JobName, Task>): TaskList {
  const checked = Object.entries(tasks).map(([name, task]): [string, Task] => [
    name,
    async (payload, helpers) => {
      if (isPayload(name as JobName, payload))
        return observeJob(name as JobName, async () => void (await task(payload, helpers)));
      const { id } = helpers.job;
      log.error({ job: id, task: name }, "a malformed job is a dead letter");
      await spendAttempts(sql, id);
      throw new Error("The payload is malformed.");
    },
  ]);
  return Object.fromEntries(checked);
}
