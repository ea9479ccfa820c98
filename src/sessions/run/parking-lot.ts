import { clearTimeout, setTimeout } from "node:timers";
import type { SlotClaimant, TurnSlots } from "./slots.ts";

/** At most about this many tenants with something parked are remembered. */
const knownMax = 10_000;
/** After a look that claimed nothing the next announcement waits this long, so that a flood of them costs no flood of looks. */
const fruitlessPauseMs = 25;

/** What came of claiming something parked. */
export interface Claimed {
  readonly claimed: number;
  /** More may be to claim at once. */
  readonly again: boolean;
}

/** What a parking lot needs. */
export interface ParkingLotOptions<T extends SlotClaimant> {
  readonly slots: TurnSlots;
  /** Tenants that one statement finds at most. */
  readonly tenantsMax: number;
  /** Returns the tenants that have something parked, the first by their ids after this one, and of these the one that waits longest first. */
  readonly find: (afterTenant: string) => Promise<readonly T[]>;
  /** Claims what is parked of these tenants, in slots that it takes. */
  readonly claim: (tenants: readonly T[]) => Promise<Claimed>;
  /** A look failed; the next one comes with the next beat or clock. */
  readonly onError: (error: unknown) => void;
}

/**
 * What waits in the database, by tenant, until this process has a slot for it: turns, or jobs of a kind. Any worker may claim what another
 * one parked. This one looks when it hears that something was parked and when one of its slots gets free, one look at a
 * time, and only while it knows of something that may take a slot.
 */
export class ParkingLot<T extends SlotClaimant> {
  readonly #options: ParkingLotOptions<T>;
  /** Tenants that have something parked, as far as this process knows. */
  readonly #known = new Map<string, SlotClaimant>();
  /** Those that were noted since the page under way was asked for, which does not have them. */
  readonly #noted = new Set<string>();
  /** Whether there may be others. */
  #hasUnknown = false;
  /** How often something was noted: a look does not see what is parked while it is under way. */
  #notes = 0;
  #looking: Promise<void> | null = null;
  #again = false;
  #stopped = false;
  #fruitlessUntil = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** Looks go on behind this tenant, so that each gets its turn however many have something parked. */
  #afterTenant = "";

  constructor(options: ParkingLotOptions<T>) {
    this.#options = options;
  }

  /** The tenants that have something parked, as far as this process knows. */
  get known(): ReadonlyMap<string, SlotClaimant> {
    return this.#known;
  }

  /** Whether a look is under way: the last slot is for what it is just claiming. */
  get isLooking(): boolean {
    return this.#looking !== null;
  }

  /** For how long what is announced is not looked for, in milliseconds. */
  get restMs(): number {
    return Math.max(0, this.#fruitlessUntil - Date.now());
  }

  /** Notes that something of a tenant is parked; null: of one that is not known. */
  note(tenant: SlotClaimant | null): void {
    this.#notes += 1;
    if (tenant === null || this.#known.size >= knownMax) this.#hasUnknown = true;
    else {
      this.#known.set(tenant.tenantId, tenant);
      this.#noted.add(tenant.tenantId);
    }
  }

  /** Looks where something is known that may take a slot: one got free. */
  lookIfWaiting(): void {
    if (this.#hasUnknown || this.#options.slots.next([...this.#known.values()]) !== undefined) this.look();
  }

  /** Looks in so long, unless it does before that. */
  lookLater(pauseMs: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.look();
    }, pauseMs);
  }

  /** Looks for what may be claimed, and claims it. */
  look(): void {
    if (!this.#mayLook) return;
    this.#again = true;
    this.#looking ??= this.#lookAll().finally(() => {
      this.#looking = null;
      if (this.#again) this.look();
    });
  }

  /** Looks no more, and resolves when the look under way has ended. Never rejects. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#looking;
  }

  get #mayLook(): boolean {
    return !this.#stopped && this.#options.slots.open > 0;
  }

  async #lookAll(): Promise<void> {
    try {
      while (this.#again && this.#mayLook) {
        this.#again = false;
        await this.#pass();
      }
    } catch (error) {
      this.#again = false;
      this.#options.onError(error);
    }
  }

  /** Looks at each tenant once, beginning where the last pass stopped. */
  async #pass(): Promise<void> {
    const notes = this.#notes;
    const first = this.#afterTenant;
    let claimed = 0;
    for (let wrapped = false; this.#mayLook && !(wrapped && this.#afterTenant >= first); ) {
      const tenants = await this.#page();
      const outcome = await this.#options.claim(tenants);
      claimed += outcome.claimed;
      if (outcome.again) this.#again = true;
      if (this.#afterTenant !== "") continue;
      if (wrapped || first === "") break;
      wrapped = true;
    }
    if (claimed === 0) this.#fruitlessUntil = Date.now() + fruitlessPauseMs;
    if (this.#mayLook && notes === this.#notes) this.#hasUnknown = this.#known.size >= knownMax;
  }

  /** Finds the tenants behind the last one that was found, and knows no others of those in between any more. */
  async #page(): Promise<readonly T[]> {
    const { find, tenantsMax } = this.#options;
    const after = this.#afterTenant;
    this.#noted.clear();
    const tenants = await find(after);
    const ids = tenants.map(({ tenantId }) => tenantId).sort();
    this.#afterTenant = tenants.length < tenantsMax ? "" : (ids.at(-1) ?? "");
    const isInPage = (id: string) => id > after && (this.#afterTenant === "" || id <= this.#afterTenant);
    for (const id of this.#known.keys()) if (isInPage(id) && !this.#noted.has(id)) this.#known.delete(id);
    for (const { tenantId, weight } of tenants) this.#known.set(tenantId, { tenantId, weight });
    return tenants;
  }
}
