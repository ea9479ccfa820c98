import type { AnySql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";
import { listWorkers, type WorkerRecord } from "../kernel/queue/workers.ts";

/** A turn that a worker runs: ids and times, no content. */
export interface TurnOnWorker {
  readonly turnId: IdOf<"turn">;
  readonly tenantId: IdOf<"tenant">;
  readonly agentId: IdOf<"agent">;
  readonly sessionId: IdOf<"session"> | null;
  readonly kind: string;
  readonly startedAt: Date;
}

/** A worker process and what it runs, the oldest first. */
export type BusyWorker = WorkerRecord & { readonly running: readonly TurnOnWorker[] };

/** Turns of one worker that are shown. */
const turnsShownMax = 100;

/** Returns all worker processes with what they run. */
export async function listBusyWorkers(sql: AnySql): Promise<BusyWorker[]> {
  const [workers, turns] = await Promise.all([
    listWorkers(sql),
    sql<(TurnOnWorker & { workerId: IdOf<"worker"> })[]>`
      select worker_id, id as turn_id, tenant_id, agent_id, session_id, kind, started_at from (
        select *, row_number() over (partition by worker_id order by started_at, id) as place
        from (select id, worker_id, tenant_id, agent_id, session_id, kind, coalesce(started_at, accepted_at) as started_at
          from turns where status = 'running') running
      ) placed where place <= ${turnsShownMax} order by place`,
  ]);
  return workers.map((worker) => ({
    ...worker,
    running: turns.filter(({ workerId }) => workerId === worker.workerId).map(({ workerId: _, ...turn }) => turn),
  }));
}
