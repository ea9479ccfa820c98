import type { JobPayloads } from "../../src/kernel/queue/catalogue.ts";
import { afterTurn } from "../../workers/after-turn.ts";
import type { Harness } from "./harness.ts";

/** Runs the jobs `turn.after` that wait, where no worker does, and removes them. Returns how many there were. */
export async function runAfterJobs(h: Harness): Promise<number> {
  const jobs = await h.sql<{ id: string; payload: JobPayloads["turn.after"] }[]>`
    select j.id::text, j.payload from graphile_worker._private_jobs j join graphile_worker._private_tasks k on k.id = j.task_id
    where k.identifier = 'turn.after' order by j.id`;
  for (const { id, payload } of jobs) {
    await afterTurn(h.ctx, payload);
    await h.sql`select 1 from graphile_worker.complete_jobs(array[${id}]::bigint[])`;
  }
  return jobs.length;
}
