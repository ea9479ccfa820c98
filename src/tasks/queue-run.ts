import type { Tenant } from "../kernel/auth/tenant.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError, type ErrorCause } from "../kernel/errors.ts";
import type { IdOf } from "../kernel/ids.ts";
import { insertRun } from "./run-states.ts";
import { hasActiveRun, hasRun, runIdOf } from "./runs.ts";
import { lockTask } from "./store.ts";
import { readTaskAgent, runnableTaskAgent } from "./task-agent.ts";

/** The errors of starting a run beyond the shared ones. */
export const startErrors: readonly ErrorCause[] = [
  "not_found",
  "version_missing_for_run",
  "agent_disabled",
  "admin_agent_managed",
  "tenant_deleting",
];

/** A request for a run. */
export interface RunRequest {
  readonly tenant: Tenant;
  readonly taskId: IdOf<"task">;
  /** The same key stands for the same run; null makes one each time. */
  readonly idempotencyKey: string | null;
  readonly requestId: string;
}

/**
 * Starts a run: it is queued with its settings, and its job does the rest, so that
 * what the run then meets (quota, credit, a model) ends the run and is never an error
 * of this request: `POST /v1/tasks/:taskId/runs`. Returns the run's id.
 *
 * Throws 404 `not_found` or `agent_version_not_found`, 409 `tenant_deleting`,
 * `admin_agent_managed`, `agent_disabled` or `task_active_run_exists`.
 */
export function queueRun(sql: AnySql, { tenant, taskId, idempotencyKey, requestId }: RunRequest): Promise<string> {
  const runId = runIdOf(taskId, idempotencyKey === null ? null : `key:${idempotencyKey}`);
  return tx(sql, async (inner) => {
    const task = await lockTask(inner, tenant.id, taskId);
    if (idempotencyKey !== null && (await hasRun(inner, taskId, runId))) return runId;
    if (tenant.deleting) throw new ApiError("tenant_deleting");
    const agent = runnableTaskAgent(await readTaskAgent(inner, task.agentId, task.agentVersion));
    if (await hasActiveRun(inner, taskId)) throw new ApiError("task_active_run_exists");
    await insertRun(inner, {
      id: runId,
      taskId,
      tenantId: tenant.id,
      agentId: task.agentId,
      agentVersion: agent.version,
      pinned: task.agentVersion !== null,
      prompt: task.prompt,
      userId: task.userId,
      metadata: task.metadata,
      responseFormat: task.responseFormat,
      requestId,
    });
    return runId;
  });
}
