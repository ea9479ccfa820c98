import { clearTimeout, setTimeout } from "node:timers";
import type { Sql } from "../src/kernel/database/client.ts";
import type { JobName } from "../src/kernel/queue/catalogue.ts";
import { type CalledJob, callParked, parkedTenants, parkedTenantsMax } from "../src/kernel/queue/parked-jobs.ts";
import { type Claimed, ParkingLot } from "../src/sessions/run/parking-lot.ts";
import { type SlotClaimant, TurnSlots } from "../src/sessions/run/slots.ts";

/** A job that was called and does not come (another worker fetched it) loses its slot after this. */
const calledMs = 2_000;

/** What a lane needs. */
export interface LaneOptions {
  readonly name: JobName;
  /** Jobs of the kind at once. */
  readonly atOnce: number;
  readonly sql: Sql;
  /** Called once jobs were called: they are due now. */
  readonly onCalled: (count: number) => void;
}

/**
 * The slots of one kind of job in this process, shared between tenants by the rule for turns (`TurnSlots`). A job
 * that finds none is parked, so that it neither holds up other tenants' jobs nor waits in
 * this process, and is called when there is a slot for it.
 */
export class Lane {
  readonly #options: LaneOptions;
  readonly #slots: TurnSlots;
  readonly #lot: ParkingLot<SlotClaimant>;
  /** The slots that are kept for called jobs, by the job's number. */
  readonly #kept = new Map<string, { readonly tenantId: string; readonly timer: ReturnType<typeof setTimeout> }>();

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#slots = new TurnSlots(options.atOnce, 0);
    const { name, sql } = options;
    this.#lot = new ParkingLot({
      slots: this.#slots,
      tenantsMax: parkedTenantsMax,
      find: async (afterTenant) => (await parkedTenants(sql, name, afterTenant)).map(claimant),
      claim: (tenants) => this.#call(tenants),
      // Postgres is away; the next look comes soon.
      onError: () => {},
    });
  }

  /** Whether no slot is free, for whichever tenant. */
  get isFull(): boolean {
    return this.#slots.free === 0;
  }

  /**
   * Takes a slot for a job that this process has fetched. Returns false when it is to be
   * parked: there is none for its tenant now, or one that waits comes first.
   */
  enter(jobId: string, tenantId: string): boolean {
    const kept = this.#kept.get(jobId);
    if (kept !== undefined) {
      clearTimeout(kept.timer);
      this.#kept.delete(jobId);
      return true;
    }
    if (!this.#comesFirst(tenantId) || !this.#slots.take(claimant(tenantId))) {
      this.noteParked(tenantId);
      return false;
    }
    return true;
  }

  /** Notes that a job of this tenant is parked now. */
  noteParked(tenantId: string): void {
    this.#lot.note(claimant(tenantId));
  }

  /** Gives back the slot of a job that ended. */
  leave(tenantId: string): void {
    this.#slots.release(tenantId);
    this.#lot.lookIfWaiting();
  }

  /** Looks for parked jobs, if one of a tenant that may take a slot is known. */
  fillIfWaiting(): void {
    this.#lot.lookIfWaiting();
  }

  /** Calls parked jobs, of any worker, while there are slots for them. */
  fill(): void {
    this.#lot.look();
  }

  /** Calls nothing more. */
  stop(): void {
    void this.#lot.stop();
  }

  /** Gives free slots to these tenants and calls their jobs. */
  async #call(tenants: readonly SlotClaimant[]): Promise<Claimed> {
    const { name, sql, onCalled } = this.#options;
    const wanted = new Map<string, number>();
    for (let next = this.#slots.next(tenants); next !== undefined; next = this.#slots.next(tenants)) {
      this.#slots.take(next);
      wanted.set(next.tenantId, (wanted.get(next.tenantId) ?? 0) + 1);
    }
    if (wanted.size === 0) return { claimed: 0, again: false };
    let called: readonly CalledJob[] = [];
    try {
      called = await callParked(sql, name, wanted);
    } finally {
      for (const { id, tenantId } of called) {
        this.#keep(id, tenantId);
        wanted.set(tenantId, (wanted.get(tenantId) ?? 0) - 1);
      }
      for (const [tenantId, left] of wanted) for (let n = 0; n < left; n++) this.#slots.release(tenantId);
    }
    if (called.length > 0) onCalled(called.length);
    return { claimed: called.length, again: called.length > 0 };
  }

  #keep(jobId: string, tenantId: string): void {
    const timer = setTimeout(() => {
      this.#kept.delete(jobId);
      this.leave(tenantId);
    }, calledMs).unref();
    this.#kept.set(jobId, { tenantId, timer });
  }

  /** Whether no job that is parked comes before a new one of this tenant: an older one of its own, or one of a tenant that holds no more. */
  #comesFirst(tenantId: string): boolean {
    const heldBy = (id: string) => this.#slots.held.get(id) ?? 0;
    const held = heldBy(tenantId);
    for (const [id, other] of this.#lot.known)
      if (id === tenantId || (heldBy(id) <= held && this.#slots.mayTake(other))) return false;
    return true;
  }
}

/** In the lanes all tenants count the same. */
function claimant(tenantId: string): SlotClaimant {
  return { tenantId, weight: 1 };
}
