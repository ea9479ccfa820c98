/** The jobs of one kind. */
export interface JobsOfKind {
  readonly task: string;
  readonly ready: number;
  readonly oldestSeconds: number;
  readonly scheduled: number;
  readonly running: number;
  readonly dead: number;
}

/** The unfinished turns of a tenant. */
export interface ShownTurnCounts {
  readonly queued: number;
  readonly oldestSeconds: number;
  readonly parked: number;
  readonly running: number;
  readonly waiting: number;
}

/** The queue, by kind of job and by tenant: `GET /console/api/operator/queue`. */
export interface QueueState {
  readonly at: string;
  readonly jobs: readonly JobsOfKind[];
  readonly tenants: readonly (ShownTurnCounts & { readonly tenantId: string; readonly name: string })[];
}

/** A turn that a worker runs: ids and times, no content. */
export interface ShownTurn<Time = string> {
  readonly turnId: string;
  readonly tenantId: string;
  readonly agentId: string;
  readonly sessionId: string | null;
  readonly kind: string;
  readonly startedAt: Time;
}

/** A worker process: `GET /console/api/operator/workers`. */
export interface WorkerState<Time = string> {
  readonly workerId: string;
  readonly host: string;
  readonly pid: number | null;
  readonly state: "working" | "draining" | "silent";
  readonly slots: number;
  readonly turns: number;
  readonly startedAt: Time;
  readonly beatSecondsAgo: number;
  /** Null: of a version that does not say. */
  readonly version: string | null;
  readonly memoryBytes: number | null;
  readonly tenants: readonly { readonly tenantId: string; readonly turns: number }[];
  readonly running: readonly ShownTurn<Time>[];
}

/** A dead letter, a job without attempts left: `GET /console/api/operator/dead-letters`. */
export interface DeadLetter {
  readonly id: string;
  readonly task: string;
  /** Ids only. */
  readonly payload: unknown;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly error: string | null;
  readonly createdAt: string;
  readonly failedAt: string;
}

/** What ended with a job that was discarded. */
export type DiscardOutcome = "turn" | "run" | "fire" | "alone";

/** The limits of a tenant that the console can change; null is no limit. */
export interface ChangeableLimits {
  readonly usageCredit: number | null;
  readonly quotaTurnsPerDay: number | null;
  readonly rateLimit: number | null;
  readonly runningTurns: number | null;
  readonly queuedTurns: number | null;
  /** Mebibytes. */
  readonly storedMib: number | null;
  readonly weight: number;
}

/** A tenant as an operator sees it: `GET /console/api/operator/tenants`. */
export interface TenantState extends ChangeableLimits {
  readonly tenantId: string;
  readonly name: string;
  readonly form: "a" | "b";
  readonly status: "active" | "deleting";
  readonly suspended: boolean;
  readonly pauseHours: number;
  readonly retentionDays: number | null;
  readonly monetization: boolean;
  /** Null: not counted yet. */
  readonly storedBytes: number | null;
  readonly createdAt: string;
  readonly load: ShownTurnCounts;
}

/** What was ended of a tenant. */
export interface EndedCounts {
  readonly queued: number;
  readonly running: number;
  readonly waiting: number;
  readonly runs: number;
}
