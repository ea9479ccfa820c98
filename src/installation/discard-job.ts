import type { AnySql, Tx } from "../kernel/database/client.ts";
import { databaseNow } from "../kernel/database/now.ts";
import { tx } from "../kernel/database/transaction.ts";
import type { ErrorCause } from "../kernel/errors.ts";
import { isJobName, isPayload, type JobName, type JobPayloads } from "../kernel/queue/catalogue.ts";
import { findJob, type Job } from "../kernel/queue/stored-jobs.ts";
import { endIdleTurn } from "../sessions/end/idle-turn.ts";
import { skipFire } from "../tasks/fire.ts";
import { refuseRun } from "../tasks/run-states.ts";

/**
 * What became of a job that was to be discarded. `turn`, `run`: what it was to
 * run ended as failed. `fire`: its schedule goes on with the next fire. `alone`:
 * nothing else had to change. `running`: a worker has it. `kept`: it stays, because
 * what it has to delete or to tell would otherwise never be. `missing`: there is no such job.
 */
export type Discarded = "turn" | "run" | "fire" | "alone" | "running" | "kept" | "missing";

/** The error of a turn or run that ended this way. */
const discarded = {
  code: "service_unavailable" as const satisfies ErrorCause,
  message: "The operator took this out of the queue.",
};

/**
 * Takes a job out of the queue for good, and ends what waits for it in the same
 * transaction: a job only points to a row, and a turn whose job alone is gone would
 * keep its session busy until the reaper adds the job again. Returns what became of it.
 */
export function discardJob(sql: AnySql, id: string): Promise<Discarded> {
  return tx(sql, async (inner) => {
    const job = await findJob(inner, id);
    if (job === null) return "missing";
    if (job.lockedAt !== null) return "running";
    // A malformed one names nothing to delete or to tell, so it may go.
    const hasMore = job.task.endsWith(".purge") || job.task === "turn.after" || job.task === "audit.tell";
    if (hasMore && isJobName(job.task) && isPayload(job.task, job.payload)) return "kept";
    const ended = await endItsOwner(inner, job);
    // A skipped fire's job is the next fire's now.
    if (ended === "running" || ended === "fire") return ended;
    // The rows come first and the job last, the order in which they are written everywhere.
    const gone = await inner`select 1 from graphile_worker.complete_jobs(array[${id}]::bigint[])`;
    if (gone.length > 0 || ended !== "alone") return ended;
    return "running";
  });
}

async function endItsOwner(inner: Tx, { task, payload }: Job): Promise<Discarded> {
  if (isA("turn", task, payload)) return endTurn(inner, payload.turnId);
  if (isA("task.run", task, payload))
    return (await refuseRun(inner, payload.runId, "failed", discarded)) ? "run" : "alone";
  if (isA("task.fire", task, payload))
    return (await skipFire(inner, payload, await databaseNow(inner))) ? "fire" : "alone";
  return "alone";
}

/** Ends a queued turn as failed. A turn that waits for a person, or has ended, does not need the job; one that runs belongs to its worker. */
async function endTurn(inner: Tx, turnId: string): Promise<Discarded> {
  const [turn] = await inner<{ status: string; attempt: number }[]>`
    select status, attempt from turns where id = ${turnId}`;
  if (turn?.status === "running") return "running";
  if (turn?.status !== "queued") return "alone";
  const queued = { turnId, attempt: turn.attempt, statuses: ["queued" as const] };
  const ended = await endIdleTurn(inner, queued, { why: "discarded", error: discarded });
  return ended === null ? "running" : "turn";
}

function isA<N extends JobName>(name: N, task: string, payload: unknown): payload is JobPayloads[N] {
  return task === name && isJobName(task) && isPayload(name, payload);
}
