import { clearTimeout, setTimeout } from "node:timers";
import type { Sql } from "../src/kernel/database/client.ts";
import type { JobName } from "../src/kernel/queue/catalogue.ts";
import { type CalledJob, callParked, parkedTenants, parkedTenantsMax } from "../src/kernel/queue/parked-jobs.ts";
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
  /** Tenants that had parked jobs when this process last looked, the one that waits longest first. */
  #waiting: ReadonlySet<string> = new Set();
  /** Tenants whose jobs were parked by this process since. */
  readonly #parked = new Set<string>();
  /** The slots that are kept for called jobs, by the job's number. */
  readonly #kept = new Map<string, { readonly tenantId: string; readonly timer: ReturnType<typeof setTimeout> }>();
  #filling: Promise<void> | null = null;
  #fillAgain = false;
  #afterTenant = "";

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#slots = new TurnSlots(options.atOnce, 0);
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
      this.#parked.add(tenantId);
      return false;
    }
    return true;
  }

  /** Notes that a job of this tenant is parked now. */
  noteParked(tenantId: string): void {
    this.#parked.add(tenantId);
  }

  /** Gives back the slot of a job that ended. */
  leave(tenantId: string): void {
    this.#slots.release(tenantId);
    this.fillIfWaiting();
  }

  /** Looks for parked jobs, if one of a tenant that may take a slot is known. */
  fillIfWaiting(): void {
    if (this.#slots.next([...this.#known()].map(claimant)) !== undefined) void this.fill();
  }

  /** Calls parked jobs, of any worker, while there are slots for them. Never rejects. */
  fill(): Promise<void> {
    this.#fillAgain = true;
    this.#filling ??= this.#fillAll().finally(() => {
      this.#filling = null;
    });
    return this.#filling;
  }

  async #fillAll(): Promise<void> {
    while (this.#fillAgain && this.#slots.free > 0) {
      this.#fillAgain = false;
      try {
        const { name, sql } = this.#options;
        const before = [...this.#parked];
        const tenants = await parkedTenants(sql, name, this.#afterTenant);
        for (const tenantId of before) this.#parked.delete(tenantId);
        this.#waiting = new Set(tenants);
        this.#afterTenant = tenants.length < parkedTenantsMax ? "" : ([...tenants].sort().at(-1) ?? "");
        if ((await this.#callOf(tenants)) > 0) this.#fillAgain = true;
      } catch {
        // Postgres is away; the next look comes soon.
        return;
      }
    }
  }

  /** Gives free slots to these tenants and calls their jobs. Returns how many were called. */
  async #callOf(tenants: readonly string[]): Promise<number> {
    const { name, sql, onCalled } = this.#options;
    const wanted = new Map<string, number>();
    const claimants = tenants.map(claimant);
    for (let next = this.#slots.next(claimants); next !== undefined; next = this.#slots.next(claimants)) {
      this.#slots.take(next);
      wanted.set(next.tenantId, (wanted.get(next.tenantId) ?? 0) + 1);
    }
    if (wanted.size === 0) return 0;
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
    return called.length;
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
    for (const other of this.#known())
      if (other === tenantId || (heldBy(other) <= held && this.#slots.mayTake(claimant(other)))) return false;
    return true;
  }

  #known(): ReadonlySet<string> {
    return this.#parked.size === 0 ? this.#waiting : this.#waiting.union(this.#parked);
  }
}

/** In the lanes all tenants count the same. */
function claimant(tenantId: string): SlotClaimant {
  return { tenantId, weight: 1 };
}
