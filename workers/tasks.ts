import type { TaskList } from "graphile-worker";
import { purgeAgent } from "../src/agents/purge.ts";
import { deliverThread } from "../src/chat/deliver.ts";
import { drainInbox } from "../src/chat/inbox.ts";
import { sweepChatEvents } from "../src/chat/look-out.ts";
import { sweepKeys } from "../src/idempotency.ts";
import type { JobName, JobPayloads } from "../src/jobs.ts";
import { deliverEvents } from "../src/merchant/deliver.ts";
import { runTurnJob, type TurnRunner } from "../src/sessions/run.ts";
import { purgeLibrarySkill } from "../src/skills/purge.ts";
import { fireTask } from "../src/tasks/fire.ts";
import { startQueuedRun } from "../src/tasks/run.ts";
import { purgeTenant } from "../src/tenants/purge.ts";
import { purgeWorkspace } from "../src/workspaces/remove.ts";

/** Job name → slice function; a name without a function does not compile. */
export function taskList(runner: TurnRunner): TaskList {
  const { ctx, actor } = runner;
  return {
    turn: (payload) => runTurnJob(runner, payload as never),
    "task.run": (payload) => startQueuedRun(ctx, (payload as JobPayloads["task.run"]).runId),
    "task.fire": (payload) => fireTask(ctx, payload as JobPayloads["task.fire"]),
    "chat.inbox": (payload) => drainInbox(ctx, (payload as JobPayloads["chat.inbox"]).threadId),
    "chat.deliver": (payload) => deliverThread(ctx, actor.workerId, (payload as JobPayloads["chat.deliver"]).threadId),
    "chat.sweep": () => sweepChatEvents(ctx.sql),
    "agent.purge": (payload) => purgeAgent(ctx, (payload as JobPayloads["agent.purge"]).agentId),
    "tenant.purge": (payload) => purgeTenant(ctx, (payload as JobPayloads["tenant.purge"]).tenantId),
    "workspace.purge": (payload) => purgeWorkspace(ctx, (payload as JobPayloads["workspace.purge"]).workspaceId),
    "skill.purge": (payload) => purgeLibrarySkill(ctx, (payload as JobPayloads["skill.purge"]).skillId),
    "merchant.deliver": (payload) =>
      deliverEvents(ctx, actor.workerId, (payload as JobPayloads["merchant.deliver"]).connectionId),
    "keys.sweep": () => sweepKeys(ctx.sql),
  } satisfies Record<JobName, TaskList[string]>;
}
