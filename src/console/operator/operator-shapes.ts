/** What `/console/api/operator/…` responds with. */

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

/** The queue, by kind of job and by tenant. */
export interface QueueState {
  readonly at: string;
  readonly jobs: readonly JobsOfKind[];
  readonly tenants: readonly (ShownTurnCounts & { readonly tenantId: string; readonly name: string })[];
}

/** A turn that a worker runs. */
export interface ShownTurn {
  readonly turnId: string;
  readonly tenantId: string;
  readonly agentId: string;
  readonly sessionId: string | null;
  readonly kind: string;
  readonly startedAt: string;
}

/** A worker process. */
export interface WorkerState {
  readonly workerId: string;
  readonly host: string;
  readonly pid: number | null;
  readonly state: "working" | "draining" | "silent";
  readonly slots: number;
  readonly turns: number;
  readonly startedAt: string;
  readonly beatSecondsAgo: number;
  readonly tenants: readonly { readonly tenantId: string; readonly turns: number }[];
  readonly running: readonly ShownTurn[];
}

/** A job without attempts left. */
export interface DeadJob {
  readonly id: string;
  readonly task: string;
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

/** A tenant as an operator sees it. */
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

/** How the installation is. */
export interface InstallationHealth {
  readonly at: string;
  readonly version: string;
  readonly hour: {
    readonly accepted: number;
    readonly succeeded: number;
    readonly failed: number;
    readonly firstTextMsP50: number | null;
    readonly firstTextMsP95: number | null;
  };
  readonly causes: readonly { readonly code: string; readonly message: string; readonly count: number }[];
  readonly tenants: readonly {
    readonly tenantId: string;
    readonly name: string;
    readonly turns: number;
    readonly failed: number;
    readonly tokens: number;
  }[];
  readonly postgres: {
    readonly version: string;
    readonly bytes: number;
    readonly connections: number;
    readonly connectionsMax: number;
    readonly oldestTransactionSeconds: number;
    readonly isStandby: boolean;
  };
  /** How long the relay took to answer; null where it did not in time. */
  readonly relayPingMs: number | null;
}
