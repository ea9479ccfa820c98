/** Who asks for a slot: a tenant, and how much it counts beside others. */
export interface SlotClaimant {
  readonly tenantId: string;
  /** 1 to 100. */
  readonly weight: number;
}

/** For each slot that stays free, a tenant of weight 1 may hold this many. */
const heldPerFree = 4;

/**
 * The slots of a worker, shared by rule and not by order of arrival (docs/architecture.md,
 * "Slots"). A tenant that holds none may take any free slot. One that holds some may take
 * another while what it would hold is at most `heldPerFree` times its weight times what would
 * stay free: dynamic thresholds, as in shared packet buffers. So a tenant alone uses four
 * fifths, and there is a free slot for whoever comes next.
 */
export class TurnSlots {
  readonly capacity: number;
  readonly #held = new Map<string, number>();
  #used = 0;

  /** `capacity` is the number of turns at once. */
  constructor(capacity: number) {
    this.capacity = capacity;
  }

  /** TurnSlots that no tenant holds. */
  get free(): number {
    return this.capacity - this.#used;
  }

  /** How many slots each tenant holds; tenants without any are left out. */
  get held(): ReadonlyMap<string, number> {
    return this.#held;
  }

  /** Returns whether the tenant may take a slot now. */
  mayTake({ tenantId, weight }: SlotClaimant): boolean {
    if (this.free < 1) return false;
    const held = this.#heldBy(tenantId);
    return held === 0 || held + 1 <= heldPerFree * weight * (this.free - 1);
  }

  /** Takes a slot. Returns false when the tenant may not take one now. */
  take(claimant: SlotClaimant): boolean {
    if (!this.mayTake(claimant)) return false;
    this.#held.set(claimant.tenantId, this.#heldBy(claimant.tenantId) + 1);
    this.#used += 1;
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
   * the fewest by weight, and of these the first in the list. Undefined when none may.
   */
  next<T extends SlotClaimant>(waiting: readonly T[]): T | undefined {
    let best: T | undefined;
    for (const claimant of waiting) {
      if (!this.mayTake(claimant)) continue;
      if (best === undefined || this.#share(claimant) < this.#share(best)) best = claimant;
    }
    return best;
  }

  #share({ tenantId, weight }: SlotClaimant): number {
    return this.#heldBy(tenantId) / weight;
  }

  #heldBy(tenantId: string): number {
    return this.#held.get(tenantId) ?? 0;
  }
}
