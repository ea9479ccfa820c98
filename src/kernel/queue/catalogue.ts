import type { AnySql } from "../database/client.ts";
import { json } from "../database/client.ts";

/** Every kind of job and what its payload holds: ids only, because the row is the truth and the job is a doorbell. */
export interface JobPayloads {
  /** Run a queued turn. `lockKey` is its session, or the turn itself when it has none. */
  turn: { turnId: string; lockKey: string };
  /** Begin a queued run of a task. */
  "task.run": { runId: string };
  /** Start the run that a task's schedule calls for; `fireAt` is the scheduled time, which names the fire. */
  "task.fire": { taskId: string; fireAt: string };
  /** Begin the turn of the first message that waits in a chat thread. */
  "chat.inbox": { threadId: string };
  /** Post what a chat thread has to be told. */
  "chat.deliver": { threadId: string };
  /** Take back the webhook of a connection whose agent or tenant is deleted, and delete it. */
  "chat.purge": { connectionId: string };
  /** Forget old events of the chat platforms. */
  "chat.sweep": Record<never, never>;
  /** Delete what a deleted agent leaves behind. */
  "agent.purge": { agentId: string };
  /** End a tenant once its last turn has ended. */
  "tenant.purge": { tenantId: string };
  /** Delete the files of a workspace that is being deleted, then the workspace. */
  "workspace.purge": { workspaceId: string };
  /** Delete what a deleted library skill leaves behind. */
  "skill.purge": { skillId: string };
  /** Report a merchant connection's usage events that are due. */
  "merchant.deliver": { connectionId: string };
  /** Forget old Idempotency-Keys. */
  "keys.sweep": Record<never, never>;
  /** Add ended turns to the sums of usage. */
  "usage.sum": Record<never, never>;
}

export type JobName = keyof JobPayloads;

/** Attempts of a job before the queue gives it up. Turns, runs, fires and deliveries are looked after by workers, so theirs only bridge a database blip. */
const maxAttempts: Readonly<Record<JobName, number>> = {
  turn: 5,
  "task.run": 5,
  "task.fire": 5,
  "chat.inbox": 5,
  "chat.deliver": 5,
  "chat.purge": 25,
  "chat.sweep": 1,
  "agent.purge": 25,
  "tenant.purge": 25,
  "workspace.purge": 25,
  "skill.purge": 25,
  "merchant.deliver": 5,
  "keys.sweep": 1,
  "usage.sum": 1,
};

/** Every kind of job. */
export const jobNames = Object.keys(maxAttempts) as JobName[];

/** Whether it is a kind of job of ours. */
export function isJobName(name: string): name is JobName {
  return Object.hasOwn(maxAttempts, name);
}

interface EnqueueOptions {
  /** Two jobs of one key that wait are one. */
  readonly key?: string;
  readonly runAt?: Date;
}

/** Adds a job in the caller's transaction: it exists if and only if what the caller writes does. */
export async function enqueue<N extends JobName>(
  sql: AnySql,
  name: N,
  payload: JobPayloads[N],
  options: EnqueueOptions = {},
): Promise<void> {
  await sql`select graphile_worker.add_job(
    ${name}, ${json(sql, payload)}, run_at => ${options.runAt ?? null}::timestamptz,
    max_attempts => ${maxAttempts[name]}, job_key => ${options.key ?? null})`;
}

/** What each kind of payload must hold: strings, all of them. */
const payloadFields: { readonly [N in JobName]: readonly (keyof JobPayloads[N] & string)[] } = {
  turn: ["turnId", "lockKey"],
  "task.run": ["runId"],
  "task.fire": ["taskId", "fireAt"],
  "chat.inbox": ["threadId"],
  "chat.deliver": ["threadId"],
  "chat.purge": ["connectionId"],
  "chat.sweep": [],
  "agent.purge": ["agentId"],
  "tenant.purge": ["tenantId"],
  "workspace.purge": ["workspaceId"],
  "skill.purge": ["skillId"],
  "merchant.deliver": ["connectionId"],
  "keys.sweep": [],
  "usage.sum": [],
};

/** Whether a payload is what its kind of job needs. One that somebody put into the queue by hand may be anything. */
export function isPayload<N extends JobName>(name: N, payload: unknown): payload is JobPayloads[N] {
  const fields = (payload ?? {}) as Record<string, unknown>;
  return payloadFields[name].every((field) => typeof fields[field] === "string");
}
