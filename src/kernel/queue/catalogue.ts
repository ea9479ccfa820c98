/** What the queue knows of a kind of job. */
interface JobKind {
  /** The fields of the payload, all of them strings: ids only, because the state is in the row that an id names, and a job only points to it. */
  readonly payload: readonly string[];
  /** How often the queue tries a job before it is a dead letter. Where workers recover lost jobs, the attempts only bridge a short outage of the database. */
  readonly attempts: number;
  /** So many jobs of the kind run at once in a worker process, in slots that tenants share. Turns have slots of their own (`WORKER_CONCURRENCY`). */
  readonly atOnce: number;
  /** The field by which jobs are told apart: of those with the same value, at most one waits. Null: at most one of the kind waits. */
  readonly key: string | null;
  /** The text before that field in the job's key; the name of the kind and a colon when left out. */
  readonly keyPrefix?: string;
}

/** A job that comes by the clock. It is tried again until the next of its kind takes its place in the queue (`workers/crontab.ts`), so an outage leaves no dead letter. */
const byTheClock = { payload: [], attempts: 25, atOnce: 1, key: null } as const;

/** Every kind of job. */
const kinds = {
  /** Run a queued turn. `lockKey` is its session, or the turn itself when it has none. */
  turn: {
    payload: ["turnId", "lockKey", "tenantId"],
    attempts: 5,
    atOnce: Number.POSITIVE_INFINITY,
    key: "turnId",
    keyPrefix: "",
  },
  /** Start the first turn in the line of a session. */
  "session.next": { payload: ["sessionId", "tenantId"], attempts: 5, atOnce: 20, key: "sessionId" },
  /**
   * Tell those who are not its readers that a turn has ended, or that a chat's stops to ask: webhooks, its task's run, the
   * billing provider, its chat. `stopId` is the turn then, or the continuation that it waits for.
   */
  "turn.after": { payload: ["stopId", "turnId", "tenantId"], attempts: 25, atOnce: 20, key: "stopId" },
  /** Begin a queued run of a task. */
  "task.run": { payload: ["runId", "tenantId"], attempts: 5, atOnce: 10, key: "runId" },
  /** Start the run that a task's schedule calls for; `fireAt` is the scheduled time, which names the fire. */
  "task.fire": { payload: ["taskId", "fireAt", "tenantId"], attempts: 5, atOnce: 8, key: "taskId" },
  /** Begin the turn of the first message that waits in a chat thread. */
  "chat.inbox": { payload: ["threadId", "tenantId"], attempts: 5, atOnce: 10, key: "threadId" },
  /** Post what waits to be posted in a chat thread. */
  "chat.deliver": { payload: ["threadId", "tenantId"], attempts: 5, atOnce: 20, key: "threadId" },
  /** Erase a deleted chat connection; where its agent or tenant was deleted, remove its webhook before. */
  "chat.purge": { payload: ["connectionId", "tenantId"], attempts: 25, atOnce: 3, key: "connectionId" },
  /** Delete old events of the chat platforms. */
  "chat.sweep": { ...byTheClock },
  /** Cancel the task of an MCP server once the claim of a turn that called it, its `attempt`, does not run any more; given up at `until`. */
  "mcp-task.cancel": {
    payload: ["watchKey", "connectionId", "serverTaskId", "turnId", "attempt", "until", "tenantId"],
    attempts: 5,
    atOnce: 4,
    key: "watchKey",
  },
  /** Count what tenants store. */
  "storage.count": { ...byTheClock },
  /** Erase a deleted session. */
  "session.purge": { payload: ["sessionId", "tenantId"], attempts: 25, atOnce: 4, key: "sessionId" },
  /** Delete what a deleted agent leaves behind. */
  "agent.purge": { payload: ["agentId", "tenantId"], attempts: 25, atOnce: 3, key: "agentId" },
  /** End a tenant once its last turn has ended, then erase what it had. */
  "tenant.purge": { payload: ["tenantId"], attempts: 25, atOnce: 3, key: "tenantId" },
  /** Delete the files of a workspace that is being deleted, then the workspace. */
  "workspace.purge": { payload: ["workspaceId", "tenantId"], attempts: 25, atOnce: 3, key: "workspaceId" },
  /** Add a job for each tenant that has something older than it keeps. */
  "retention.sweep": { ...byTheClock },
  /** Delete what a tenant keeps no longer. */
  "retention.purge": { payload: ["tenantId"], attempts: 25, atOnce: 3, key: "tenantId" },
  /** Empty stateless generations whose answers nobody can ask for any more. */
  "generations.sweep": { ...byTheClock },
  /** Delete counts of quotas that are over, and old dead letters. */
  "records.sweep": { ...byTheClock },
  /** Erase a deleted task and its runs. */
  "task.purge": { payload: ["taskId", "tenantId"], attempts: 25, atOnce: 3, key: "taskId" },
  /** Delete what a deleted library skill leaves behind. */
  "skill.purge": { payload: ["skillId", "tenantId"], attempts: 25, atOnce: 3, key: "skillId" },
  /** Count what was used before a budget, and delete the sums of one that is deleted or changed. */
  "budget.settle": { payload: ["budgetId", "tenantId"], attempts: 25, atOnce: 3, key: "budgetId" },
  /** Report a merchant connection's usage events that are due. */
  "merchant.deliver": { payload: ["connectionId", "tenantId"], attempts: 5, atOnce: 10, key: "connectionId" },
  /** Send what is due to a webhook. A receiver may be slow, and to wait for one costs little: so there are many slots, and other tenants find one. */
  "webhook.deliver": { payload: ["webhookId", "tenantId"], attempts: 5, atOnce: 50, key: "webhookId" },
  /** Erase what a deleted webhook leaves behind. */
  "webhook.purge": { payload: ["webhookId", "tenantId"], attempts: 25, atOnce: 3, key: "webhookId" },
  /** End deliveries that wait too long for a disabled webhook, and delete what webhooks keep no longer. */
  "webhook.sweep": { ...byTheClock },
  /** Deny the tool calls that nobody decided in time. */
  "pauses.sweep": { ...byTheClock },
  /** End runs whose turns have ended and whose job `turn.after` has not said so. */
  "runs.sweep": { ...byTheClock },
  /** Delete old Idempotency-Keys. */
  "keys.sweep": { ...byTheClock },
  /** Delete the console's sessions and links that are over. */
  "console-sessions.sweep": { ...byTheClock },
  /** Tell the webhooks that want it of an audit event. */
  "audit.tell": { payload: ["auditEventId", "tenantId"], attempts: 25, atOnce: 10, key: "auditEventId" },
  /** Delete old audit events. */
  "audit.sweep": { ...byTheClock },
  /** Add ended turns to the sums of usage. */
  "usage.sum": { ...byTheClock },
} as const satisfies Record<string, JobKind>;

export type JobName = keyof typeof kinds;

/** The payload of each kind of job. */
export type JobPayloads = { readonly [N in JobName]: { readonly [F in (typeof kinds)[N]["payload"][number]]: string } };

/** The kinds of job of which several wait, each with a key of its own. */
export type KeyedJobName = { [N in JobName]: (typeof kinds)[N]["key"] extends null ? never : N }[JobName];

/** Kinds that come by the clock. */
export type ClockJobName = Exclude<JobName, KeyedJobName>;

/** The names of all kinds of job. */
export const jobNames = Object.keys(kinds) as JobName[];

/** Returns whether the name is one of the catalogue. */
export function isJobName(name: string): name is JobName {
  return Object.hasOwn(kinds, name);
}

/** Returns the catalogue's row of a kind of job. */
export function jobKind(name: JobName): JobKind {
  return kinds[name];
}

/** Returns the text before the id in the keys of a kind of job. */
export function jobKeyPrefix(name: KeyedJobName): string {
  return jobKind(name).keyPrefix ?? `${name}:`;
}

/** Returns the key of a job; `id` is the value of the kind's key field. */
export function jobKey(name: KeyedJobName, id: string): string {
  return `${jobKeyPrefix(name)}${id}`;
}

/** Returns whether a payload has what its kind of job needs. A payload that was put into the queue by hand may be any JSON. */
export function isPayload<N extends JobName>(name: N, payload: unknown): payload is JobPayloads[N] {
  const fields = (payload ?? {}) as Record<string, unknown>;
  return jobKind(name).payload.every((field) => typeof fields[field] === "string");
}
