import type { Ctx } from "../kernel/context.ts";
import { defaultMessage } from "../kernel/errors.ts";
import { queuedTurnStaleMs, reapBatchRows } from "../kernel/limits.ts";
import { addJob, hasLiveJobSql, jobKeySql } from "../kernel/queue/add-job.ts";
import { reaperActions } from "../kernel/telemetry/metrics.ts";
import { enqueueFire } from "./next-fire.ts";
import { endRunOfTurn, refuseRun } from "./run-states.ts";

/** The job `turn.after` has this long to end a run, which takes it some 10 ms. */
const afterTurnMs = 60_000;

/**
 * Finds fires and queued runs whose jobs are lost (the queue was emptied, or a job
 * used up its attempts), by index and in bounded steps, and adds their jobs again. A
 * run whose job failed for good is ended, because nothing else would end it. It is
 * run after the reaper of turns, by the same worker.
 */
export async function recoverTasks(ctx: Pick<Ctx, "sql" | "log">): Promise<void> {
  await recoverFires(ctx);
  await recoverRuns(ctx);
}

async function recoverFires({ sql, log }: Pick<Ctx, "sql" | "log">): Promise<void> {
  const lost = await sql<{ id: string; tenantId: string; fireAt: Date }[]>`
    select due.id, due.tenant_id, due.next_fire_at as fire_at from (
      select id, tenant_id, next_fire_at from tasks where next_fire_at < now() - ${queuedTurnStaleMs} * interval '1 millisecond'
      order by next_fire_at limit ${reapBatchRows}
    ) due
    where not ${hasLiveJobSql(sql, jobKeySql(sql, "task.fire", sql`due.id`))}`;
  for (const { id, tenantId, fireAt } of lost) {
    await enqueueFire(sql, { id, tenantId }, fireAt);
    reaperActions.inc({ action: "fire_rung" });
    log.warn({ taskId: id, fireAt }, "a fire whose job was lost has a new job");
  }
}

async function recoverRuns({ sql, log }: Pick<Ctx, "sql" | "log">): Promise<void> {
  const lost = await sql<{ id: string; tenantId: string; gaveUp: boolean }[]>`
    select queued.id, queued.tenant_id, j.id is not null as gave_up from (
      select id, tenant_id from task_runs
      where status = 'queued' and created_at < now() - ${queuedTurnStaleMs} * interval '1 millisecond'
      order by created_at limit ${reapBatchRows}
    ) queued left join graphile_worker._private_jobs j on j.key = ${jobKeySql(sql, "task.run", sql`queued.id`)}
    where j.id is null or (j.attempts >= j.max_attempts and j.locked_at is null)`;
  for (const { id, tenantId, gaveUp } of lost) {
    if (gaveUp) {
      const error = { code: "service_unavailable", message: defaultMessage("service_unavailable") } as const;
      if (!(await refuseRun(sql, id, "failed", error))) continue;
      reaperActions.inc({ action: "run_ended" });
      log.error({ runId: id }, "a run that could not be started was ended");
    } else {
      await addJob(sql, "task.run", { runId: id, tenantId });
      reaperActions.inc({ action: "run_rung" });
      log.warn({ runId: id }, "a queued run whose job was lost has a new job");
    }
  }
}

/**
 * The job `runs.sweep`: ends runs whose turns have ended and whose job `turn.after` is lost, or fails by what it has to tell
 * others. It looks at each run that is running, and so every five minutes and not with the reaper.
 */
export async function endForgottenRuns({ sql, log }: Pick<Ctx, "sql" | "log">): Promise<void> {
  const forgotten = await sql<{ id: string; turnId: string }[]>`
    select r.id, r.turn_id from task_runs r left join turns t on t.id = r.turn_id
    where r.status = 'running' and r.started_at < now() - ${afterTurnMs} * interval '1 millisecond'
      and (t.id is null or t.finished_at < now() - ${afterTurnMs} * interval '1 millisecond')
    limit ${reapBatchRows}`;
  for (const { id, turnId } of forgotten) {
    await endRunOfTurn(sql, turnId);
    reaperActions.inc({ action: "run_ended" });
    log.warn(
      { runId: id, turnId },
      "a run was ended by the sweep: the job that follows the end of its turn has not done so",
    );
  }
}
