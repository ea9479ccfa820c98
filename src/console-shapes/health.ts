import type { FailureCause, OverviewPart } from "./overview.ts";

/** What the installation's turns of the last hour came to, and how its stores are: `GET /console/api/operator/health`. */
export interface InstallationHealth<Time = string> {
  readonly at: string;
  /** The process that answers. */
  readonly process: {
    readonly version: string;
    readonly host: string;
    readonly pid: number;
    readonly memoryBytes: number;
  };
  /** All HTTP processes, the oldest first. */
  readonly httpProcesses: readonly HttpProcess<Time>[];
  readonly hour: {
    readonly accepted: number;
    readonly succeeded: number;
    readonly failed: number;
    readonly firstTextMsP50: number | null;
    readonly firstTextMsP95: number | null;
  };
  /** The last hours in parts, the oldest first; the last one is under way. Of a busy hour, that hour alone. */
  readonly parts: readonly OverviewPart<Time>[];
  /** The most frequent first. */
  readonly causes: readonly FailureCause[];
  /** The providers that ended the most turns of the hour, the most first. */
  readonly providers: readonly FailingProvider[];
  /** The tenants of the hour with the most turns, the most failures or the most tokens. */
  readonly tenants: readonly HourOfTenant[];
  readonly deadLetters: number;
  readonly postgres: PostgresHealth;
  readonly relay: RelayHealth;
}

/** A provider that ended turns of the last hour. Its words are its tenant's. */
export interface FailingProvider {
  /** Null: the operator's own. */
  readonly providerId: string | null;
  readonly providerType: string | null;
  readonly tenantId: string;
  readonly tenantName: string;
  readonly failed: number;
  /** What it answered last; null where no answer came. */
  readonly lastStatus: number | null;
}

/** What a tenant's turns of the last hour came to. */
export interface HourOfTenant {
  readonly tenantId: string;
  readonly name: string;
  readonly suspended: boolean;
  readonly turns: number;
  readonly failed: number;
  readonly tokens: number;
}

/** How the database is. */
export interface PostgresHealth {
  readonly version: string;
  readonly bytes: number;
  readonly connections: number;
  readonly connectionsMax: number;
  readonly oldestTransactionSeconds: number;
  readonly isStandby: boolean;
}

/** How the relay is. */
export interface RelayHealth {
  /** How long it took to answer; null where it did not in time. */
  readonly pingMs: number | null;
  /** Of Redis; null where the relay is of the process, or did not say. */
  readonly memory: { readonly usedBytes: number; readonly maxBytes: number | null } | null;
}

/** An HTTP process, as its row describes it. */
export interface HttpProcess<Time = string> {
  readonly host: string;
  readonly pid: number;
  /** `silent`: its row is old, so it is lost, or has no database. */
  readonly state: "serving" | "silent";
  readonly version: string;
  /** What it takes of the memory of its host, at its last beat. */
  readonly memoryBytes: number;
  readonly startedAt: Time;
  readonly beatSecondsAgo: number;
}

/** How the installation was in a part of the last day: `GET /console/api/operator/gauges`. The highest values; null where nothing was written down. */
export interface GaugePart<Time = string> {
  /** Its beginning. */
  readonly at: Time;
  readonly turnsWaiting: number | null;
  readonly turnsRunning: number | null;
  readonly jobsReady: number | null;
  readonly oldestSeconds: number | null;
  readonly deadLetters: number | null;
  readonly httpMemoryBytes: number | null;
  readonly workerMemoryBytes: number | null;
  readonly postgresConnections: number | null;
}
