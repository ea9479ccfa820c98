import { heldPerFree } from "../../kernel/limits.ts";
import { nothingPaused, type Paused } from "../../kernel/queue/pauses.ts";

/** Who asks for a slot: a tenant, and how much it counts beside others. */
export interface SlotClaimant {
  readonly tenantId: string;
  /** 1 to 100. */
  readonly weight: number;
}

/** So many tenants that hold no slot get one beyond the others, when all of a worker's are taken. */
const turnsBeyond = 4;
/** What this many tenants took is remembered. */
const rememberedMax = 10_000;
/** A worker with fewer slots than this has none beyond them. */
const capacityWithBeyond = 4;

/**
 * The slots of a worker, shared by rule and not by order of arrival (docs/workers.md, "Slots").
 * A tenant that holds none may take any free slot. One that holds some may take another while
 * what it would hold is at most `heldPerFree` times its weight times what would
 * stay free: dynamic thresholds, as in shared packet buffers. So a tenant alone uses four
 * fifths, and there is a free slot for whoever comes next. Several tenants can still hold
 * all slots of a small worker between them: then a tenant that holds none gets one of a few
 * beyond them, because a turn mostly waits for a model, and one more costs little.
 */
export class TurnSlots {
  readonly capacity: number;
  readonly #beyond: number;
  readonly #held = new Map<string, number>();
  #used = 0;
  /** When the slot after its last one is due for each tenant, and for the tenant that took the last slot of all when that was. */
  readonly #due = new Map<string, number>();
  #now = 0;
  #paused: Paused = nothingPaused;

  /** `capacity` is the number of turns at once; `beyond` so many more may run for tenants that hold none. */
  constructor(capacity: number, beyond: number = capacity < capacityWithBeyond ? 0 : turnsBeyond) {
    this.capacity = capacity;
    this.#beyond = beyond;
  }

  /** From now on these tenants may take no slot; what they hold they keep. */
  pause(paused: Paused): void {
    this.#paused = paused;
  }

  /** How many more turns may begin: the free slots, and those beyond them. */
  get open(): number {
    return this.#paused.all ? 0 : this.capacity + this.#beyond - this.#used;
  }

  /** Slots that no tenant holds, those beyond not counted. */
  get free(): number {
    return Math.max(0, this.capacity - this.#used);
  }

  /** How many slots each tenant holds; tenants without any are left out. */
  get held(): ReadonlyMap<string, number> {
    return this.#held;
  }

  /** Returns whether the tenant may take a slot now. */
  mayTake({ tenantId, weight }: SlotClaimant): boolean {
    if (this.#paused.all || this.#paused.tenantIds.has(tenantId)) return false;
    const held = this.#heldBy(tenantId);
    if (held === 0) return this.open > 0;
    return held + 1 <= heldPerFree * weight * (this.free - 1);
  }

  /** Takes a slot. Returns false when the tenant may not take one now. */
  take(claimant: SlotClaimant): boolean {
    if (!this.mayTake(claimant)) return false;
    this.#held.set(claimant.tenantId, this.#heldBy(claimant.tenantId) + 1);
    this.#used += 1;
    this.#noteTaken(claimant);
    return true;
  }

  /** Gives back a slot that the tenant holds. */
  release(tenantId: string): void {
    const held = this.#heldBy(tenantId);
    if (held === 0) throw new Error(`${tenantId} holds no slot.`);
    if (held === 1) this.#held.delete(tenantId);
    else this.#held.set(tenantId, held - 1);
    this.#used -= 1;
  }

  /**
   * Returns who of those that wait takes the next slot: of those that may, the one that holds
   * the fewest by weight; of these the one whose turn it is by what they took before, and
   * of these the first in the list. Undefined when none may.
   */
  next<T extends SlotClaimant>(waiting: readonly T[]): T | undefined {
    let best: T | undefined;
    for (const claimant of waiting) {
      if (!this.mayTake(claimant)) continue;
      if (best === undefined || this.#comesBefore(claimant, best)) best = claimant;
    }
    return best;
  }

  #comesBefore(one: SlotClaimant, other: SlotClaimant): boolean {
    const difference = this.#share(one) - this.#share(other);
    return difference < 0 || (difference === 0 && this.#startOf(one.tenantId) < this.#startOf(other.tenantId));
  }

  /**
   * When the tenant's next slot is due, in slots of a tenant of weight 1 (start-time fair
   * queueing). On a worker with few slots all that wait hold none whenever one gets free, and
   * the one with the oldest turns would get each of them.
   */
  #startOf(tenantId: string): number {
    return Math.max(this.#due.get(tenantId) ?? 0, this.#now);
  }

  #noteTaken({ tenantId, weight }: SlotClaimant): void {
    this.#now = this.#startOf(tenantId);
    this.#due.set(tenantId, this.#now + 1 / weight);
    if (this.#due.size <= rememberedMax) return;
    for (const [tenant, due] of this.#due) if (due <= this.#now) this.#due.delete(tenant);
    if (this.#due.size > rememberedMax) this.#due.clear();
  }

  #share({ tenantId, weight }: SlotClaimant): number {
    return this.#heldBy(tenantId) / weight;
  }

  #heldBy(tenantId: string): number {
    return this.#held.get(tenantId) ?? 0;
  }
}
