import { SharedSlots } from "../async/shared-slots.ts";
import { databaseWaitMs } from "../limits.ts";
import { tooMany } from "./too-many.ts";

/** Changes of one kind that a process makes at once, and those of one tenant. */
const changesMax = 8;
const changesPerTenantMax = 2;

/**
 * Bounds changes of one kind that wait for one another in the database, such as those that hold a limit of their tenant's
 * by a lock: each has a connection meanwhile, and many of one tenant would have all that a tenant may.
 */
export class ChangesAtOnce {
  readonly #slots = new SharedSlots(changesMax, changesPerTenantMax);
  readonly #what: string;

  /** `what` they change, in the plural, for the error. */
  constructor(what: string) {
    this.#what = what;
  }

  /** Waits for a slot of the tenant and makes the change. Throws 429 `rate_limited` where none is free in time, and what `change` throws. */
  async run<T>(tenantId: string, change: () => Promise<T>): Promise<T> {
    const release = await this.#slots.take(tenantId, AbortSignal.timeout(databaseWaitMs)).catch(() => {
      throw tooMany(`The tenant changes too many ${this.#what} at once.`, changesPerTenantMax);
    });
    return change().finally(release);
  }
}
