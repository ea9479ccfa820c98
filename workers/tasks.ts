import type { Task, TaskList } from "graphile-worker";
import { type AgentPurge, purgeAgent } from "../src/agents/purge.ts";
import { sweepAuditEvents } from "../src/audit/store.ts";
import { tellAuditEvent } from "../src/audit/tell.ts";
import { settleAndErase } from "../src/budgets/settle.ts";
import { deliverThread } from "../src/chat/deliver.ts";
import { drainInbox } from "../src/chat/inbox.ts";
import { purgeChatConnection, purgeChatConnections } from "../src/chat/purge.ts";
import { sweepChatEvents } from "../src/chat/recover.ts";
import { purgeClientTokens, sweepClientTokens } from "../src/client-tokens/store.ts";
import { sweepConsole } from "../src/console-server/store.ts";
import { noteStored } from "../src/kernel/admission/stored-bytes.ts";
import type { Ctx } from "../src/kernel/context.ts";
import { sweepKeys } from "../src/kernel/http/idempotency.ts";
import type { IdOf } from "../src/kernel/ids.ts";
import { isPayload, type JobName, type JobPayloads, jobNames } from "../src/kernel/queue/catalogue.ts";
import { observeJob } from "../src/kernel/queue/observe-job.ts";
import { isReplaced, spendAttempts } from "../src/kernel/queue/stored-jobs.ts";
import { cancelLostTask } from "../src/mcp-connections/call/lost-tasks.ts";
import { deliverEvents } from "../src/merchant/deliver.ts";
import { startNext } from "../src/sessions/accept/start-next.ts";
import { sweepGenerations } from "../src/sessions/erase/generations.ts";
import { purgeExpired, sweepRetention } from "../src/sessions/erase/retention.ts";
import { purgeSession } from "../src/sessions/erase/session.ts";
import { purgeSessions } from "../src/sessions/purge.ts";
import { expirePauses } from "../src/sessions/recover/expire.ts";
import type { Dispatcher } from "../src/sessions/run/dispatch.ts";
import { recountSessions } from "../src/sessions/state/session-bytes.ts";
import { isClaimed } from "../src/sessions/state/turn.ts";
import { purgeLibrarySkill, purgeSkills } from "../src/skills/purge.ts";
import { beginRun } from "../src/tasks/begin-run.ts";
import { fireTask } from "../src/tasks/fire.ts";
import { purgeTask, purgeTasks } from "../src/tasks/purge.ts";
import { endForgottenRuns } from "../src/tasks/recover.ts";
import { purgeTenant } from "../src/tenants/purge.ts";
import { sweepRecords } from "../src/tenants/records.ts";
import { sumUsage } from "../src/usage/sums.ts";
import { deliverWebhook } from "../src/webhooks/deliver.ts";
import { purgeWebhook } from "../src/webhooks/purge.ts";
import { sweepWebhooks } from "../src/webhooks/sweep.ts";
import { purgeWorkspace } from "../src/workspaces/remove.ts";
import { afterTurn } from "./after-turn.ts";
import type { Lanes } from "./lanes.ts";

/** What is deleted with an agent, in this order. It is handed in, because `agents` must not import the slices above it. */
export const agentPurges: readonly AgentPurge[] = [
  purgeSkills,
  purgeTasks,
  ({ sql }, agentId) => purgeChatConnections(sql, { agentId }),
  purgeSessions,
  purgeClientTokens,
];

/** What jobs need of their worker process. */
export interface JobRunner {
  readonly ctx: Ctx;
  readonly workerId: IdOf<"worker">;
  readonly dispatcher: Dispatcher;
  readonly lanes: Lanes;
}

/** Returns the functions that run turns, and those that run every other kind of job, in its lane; a kind without one does not compile. */
export function taskLists(runner: JobRunner): { readonly turns: TaskList; readonly others: TaskList } {
  const { turn, ...others } = taskList(runner);
  return { turns: { turn }, others };
}

function taskList({ ctx, workerId, dispatcher, lanes }: JobRunner): Record<JobName, Task> {
  return inLanes(ctx, lanes, {
    turn: (payload) => dispatcher.take(payload),
    "turn.after": (payload) => afterTurn(ctx, payload),
    "session.next": (payload) => startNext(ctx, payload.sessionId),
    "task.run": (payload) => beginRun(ctx, payload.runId),
    "task.fire": (payload) => fireTask(ctx, payload),
    "chat.inbox": (payload) => drainInbox(ctx, payload.threadId),
    "chat.deliver": (payload) => deliverThread(ctx, workerId, payload.threadId),
    "chat.purge": (payload) => purgeChatConnection(ctx, payload),
    "chat.sweep": () => sweepChatEvents(ctx.sql),
    "mcp-task.cancel": (payload) => cancelLostTask(ctx, payload, isClaimed),
    "session.purge": (payload) => purgeSession(ctx, payload),
    "agent.purge": (payload) => purgeAgent(ctx, payload, agentPurges),
    "tenant.purge": (payload) => purgeTenant(ctx, payload.tenantId),
    "workspace.purge": (payload) => purgeWorkspace(ctx, payload),
    "retention.sweep": () => sweepRetention(ctx.sql),
    "retention.purge": (payload) => purgeExpired(ctx, payload.tenantId),
    "generations.sweep": () => sweepGenerations(ctx.sql),
    "records.sweep": () => sweepRecords(ctx.sql),
    "task.purge": (payload) => purgeTask(ctx, payload),
    "skill.purge": (payload) => purgeLibrarySkill(ctx, payload),
    "budget.settle": (payload) => settleAndErase(ctx, payload),
    "merchant.deliver": (payload) => deliverEvents(ctx, workerId, payload),
    "webhook.deliver": (payload) => deliverWebhook(ctx, workerId, payload),
    "webhook.purge": (payload) => purgeWebhook(ctx, payload),
    "webhook.sweep": () => sweepWebhooks(ctx.sql),
    "pauses.sweep": () => expirePauses(ctx),
    "runs.sweep": () => endForgottenRuns(ctx),
    "keys.sweep": async () => {
      await sweepKeys(ctx.sql);
      await sweepClientTokens(ctx.sql);
    },
    "console-sessions.sweep": () => sweepConsole(ctx.sql),
    "audit.tell": (payload) => tellAuditEvent(ctx.sql, payload),
    "audit.sweep": () => sweepAuditEvents(ctx.sql),
    "storage.count": async () => {
      await recountSessions(ctx.sql);
      await noteStored(ctx.sql);
    },
    "usage.sum": () => sumUsage(ctx.sql),
  });
}

/** What runs each kind of job. */
type JobHandlers = { readonly [N in JobName]: (payload: JobPayloads[N]) => Promise<unknown> };

function inLanes(ctx: Ctx, lanes: Lanes, handlers: JobHandlers): Record<JobName, Task> {
  return Object.fromEntries(jobNames.map((name) => [name, taskOf(ctx, lanes, name, handlers)])) as Record<
    JobName,
    Task
  >;
}

/**
 * Makes a malformed job a dead letter at once, with a line in the log: another attempt
 * would fail as well, and an operator can list it (`queue list --dead`). One that fails after it
 * was replaced by a newer one is done: it would be a dead letter, although the newer one does its work.
 */
function taskOf<N extends JobName>({ log, sql }: Ctx, lanes: Lanes, name: N, handlers: JobHandlers): Task {
  const handle: (payload: JobPayloads[N]) => Promise<unknown> = handlers[name];
  const run = lanes.inLane(name, (payload) =>
    observeJob(name, async () => void (await handle(payload as JobPayloads[N]))),
  );
  return async (payload, helpers) => {
    const { id, key } = helpers.job;
    if (isPayload(name, payload)) {
      try {
        await run(payload, helpers);
      } catch (error) {
        if (key === null || !(await isReplaced(sql, id).catch(() => false))) throw error;
        log.warn({ err: error, job: id, task: name }, "a job failed whose work a newer one does");
      }
      return;
    }
    log.error({ job: id, task: name }, "a malformed job is a dead letter");
    await spendAttempts(sql, id);
    throw new Error("The payload is malformed.");
  };
}
