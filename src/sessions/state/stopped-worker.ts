import type { AnySql } from "../../kernel/database/client.ts";

/** A turn, and the worker whose event loop stands in it. */
export interface StoppedWorker {
  readonly turnId: string;
  readonly workerId: string;
}

/**
 * Notes that the event loop of its worker stands in a turn: when the worker is lost, the turn is not run again (`requeueTurn`).
 * Does nothing when the turn is another worker's by now.
 */
export async function noteStoppedWorker(sql: AnySql, { turnId, workerId }: StoppedWorker): Promise<void> {
  await sql`
    update /* turn.note_stopped */ turns set stopped_worker_at = now() where id = ${turnId} and worker_id = ${workerId} and status = 'running'`;
}

/** Notes that the event loop goes on. */
export async function forgetStoppedWorker(sql: AnySql, { turnId, workerId }: StoppedWorker): Promise<void> {
  await sql`
    update /* turn.note_going */ turns set stopped_worker_at = null where id = ${turnId} and worker_id = ${workerId} and status = 'running'`;
}
