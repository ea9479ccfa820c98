import { tenantPrincipal } from "../kernel/auth/authenticator.ts";
import { findTenant } from "../kernel/auth/tenant.ts";
import type { Ctx } from "../kernel/context.ts";
import { ApiError, defaultMessage, type ErrorCause } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import { passingMsMax, passingPauseMs } from "../kernel/limits.ts";
import { addJob } from "../kernel/queue/add-job.ts";
import { acceptTurn } from "../sessions/accept/turn.ts";
import { refuseRun, startRun } from "./run-states.ts";
import { findRun, type RunRow } from "./runs.ts";

/** Refusals because of the tenant's quota, budgets or credit: the run ends as `blocked`, not as `failed`. */
const blocking: ReadonlySet<ErrorCause> = new Set(["quota_exceeded", "budget_exceeded", "usage_credit_required"]);

/**
 * The job `task.run`: turns a queued run into a turn of a new session, or ends it
 * when it may not begin; where what stands in the way passes by itself, it tries again. Throws only errors that a later attempt may not meet.
 */
export async function beginRun(ctx: Ctx, runId: string): Promise<void> {
  const run = await findRun(ctx.sql, runId);
  if (run === null || run.status !== "queued") return;
  try {
    await acceptRun(ctx, run);
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason === "service_unavailable") throw error;
    // The merchant's provider does not answer just now.
    const passes = error.reason === "merchant_eligibility_unavailable";
    if (passes && Date.now() - run.createdAt.getTime() < passingMsMax) {
      const runAt = new Date(Date.now() + passingPauseMs);
      return addJob(ctx.sql, "task.run", { runId: run.id, tenantId: run.tenantId }, { runAt });
    }
    // Guarded: the turn may have been accepted by an attempt whose response got lost, or the run canceled in the meantime.
    const refused = await refuseRun(ctx.sql, run.id, blocking.has(error.reason) ? "blocked" : "failed", {
      code: error.reason,
      message: error.message,
    });
    if (refused) ctx.log.info({ runId, taskId: run.taskId, reason: error.reason }, "a run was refused");
  }
}

async function acceptRun(ctx: Ctx, run: RunRow): Promise<void> {
  const tenant = await findTenant(ctx.sql, run.tenantId);
  if (tenant === null) throw new ApiError("tenant_deleting", { message: defaultMessage("tenant_deleting") });
  const message = { id: newId("message"), role: "user" as const, parts: [{ type: "text", text: run.prompt }] };
  await acceptTurn(ctx, {
    principal: tenantPrincipal(tenant),
    agentId: run.agentId,
    sessionId: null,
    body: {
      message,
      userId: run.userId,
      metadata: run.metadata,
      ...(run.responseFormat === null ? {} : { responseFormat: run.responseFormat }),
      ...(run.pinned ? { version: run.agentVersion } : {}),
    },
    materialize: "on_accept",
    kind: "task",
    agentVersion: run.agentVersion,
    alongside: (inner, accepted) => startRun(inner, run.id, accepted),
    requestId: run.requestId,
    key: null,
  });
}
