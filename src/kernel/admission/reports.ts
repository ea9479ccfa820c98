import { SharedSlots } from "../async/shared-slots.ts";
import type { Sql } from "../database/client.ts";
import { unavailable } from "../database/failure.ts";
import { type Replica, readFrom } from "../database/replica.ts";
import type { IdOf } from "../ids.ts";
import { databaseWaitMs } from "../limits.ts";

/** How many reports run at once (docs/configuration.md, "Limits"). */
export interface ReportLimits {
  readonly reportsMax: number;
  readonly reportsPerTenantMax: number;
  /** That a tenant has asked for and not got yet. */
  readonly reportsAskedMax: number;
  readonly waitMs: number;
}

/** Reports that run at once in a process, and connections for them. */
export const reportsMax = 4;

const usualLimits: ReportLimits = {
  reportsMax,
  reportsPerTenantMax: 2,
  reportsAskedMax: 66,
  waitMs: databaseWaitMs,
};

/**
 * Runs what adds up many rows, a few at a time and on separate connections, so that no
 * report delays any other request. A free place goes to the waiting tenant that runs the fewest.
 */
export class Reports {
  readonly #sql: Sql;
  readonly #limits: ReportLimits;
  readonly #replica: Replica | null;
  readonly #slots: SharedSlots;
  readonly #asked = new Map<IdOf<"tenant">, number>();

  constructor(sql: Sql, limits: ReportLimits = usualLimits, replica: Replica | null = null) {
    this.#sql = sql;
    this.#replica = replica;
    this.#limits = limits;
    this.#slots = new SharedSlots(limits.reportsMax, limits.reportsPerTenantMax);
  }

  /** Returns what a report returns. Throws 503 `service_unavailable` when it cannot begin within `waitMs`, or when the tenant waits for too many. */
  async run<T>(tenantId: IdOf<"tenant">, report: (sql: Sql) => Promise<T>): Promise<T> {
    if (this.#askedBy(tenantId) >= this.#limits.reportsAskedMax) throw unavailable();
    this.#asked.set(tenantId, this.#askedBy(tenantId) + 1);
    try {
      const release = await this.#slots.take(tenantId, AbortSignal.timeout(this.#limits.waitMs)).catch(() => {
        throw unavailable();
      });
      return await readFrom({ replica: this.#replica, primary: this.#sql }, report).finally(release);
    } finally {
      const left = this.#askedBy(tenantId) - 1;
      if (left === 0) this.#asked.delete(tenantId);
      else this.#asked.set(tenantId, left);
    }
  }

  #askedBy(tenantId: IdOf<"tenant">): number {
    return this.#asked.get(tenantId) ?? 0;
  }
}
