import type { Sql } from "../../kernel/database/client.ts";
import type { Logger } from "../../kernel/telemetry/log.ts";
import { findParked, type ParkedTenant } from "../state/parked.ts";
import type { ClaimWay } from "../state/turn.ts";
import type { QueuedTurn } from "../state/turn-job.ts";
import { type Claimed, ParkingLot } from "./parking-lot.ts";
import type { TurnSlots } from "./slots.ts";

/** One statement looks at the parked turns of at most this many tenants, and at this many turns of each. */
const tenantsPerLook = 100;
const turnsPerTenant = 16;
/** A parked turn whose session is still locked is tried again after this long, and then with the beat. */
const lockedPauseMs = 50;

/** What became of a turn that was picked: `busy`, its session is locked; `gone`, it is not queued any more; `waits`, its tenant's limit is reached. */
export type PickOutcome = "claimed" | "busy" | "gone" | "waits" | "failed";

/** A tenant with the parked turns of it that are not claimed yet. */
type Waiting = ParkedTenant & { readonly turns: ParkedTenant["turns"][number][] };

/** What picking needs. */
interface ParkedTurnsOptions {
  readonly sql: Sql;
  readonly log: Logger;
  readonly slots: TurnSlots;
  /** Claims a turn in the slot that was taken for it, and begins to run it, or releases the slot. Never rejects. */
  readonly claim: (turn: QueuedTurn, way: ClaimWay) => Promise<PickOutcome>;
}

/** Picks parked turns: claims those that the rule of the slots gives a slot to. */
export class ParkedTurns {
  readonly lot: ParkingLot<ParkedTenant>;
  readonly #options: ParkedTurnsOptions;
  /** How many turns the last look found whose sessions are locked: the next one looks behind them. */
  #locked = 0;
  /** Turns of each tenant that the look under way asked for. */
  #turnsMax = 0;

  constructor(options: ParkedTurnsOptions) {
    const { log, slots } = options;
    this.#options = options;
    this.lot = new ParkingLot({
      slots,
      tenantsMax: tenantsPerLook,
      find: (afterTenant) => this.#find(afterTenant),
      claim: (tenants) => this.#claim(tenants),
      onError: (error) => log.warn({ err: error }, "parked turns could not be looked for"),
    });
  }

  #find(afterTenant: string): Promise<ParkedTenant[]> {
    const { sql, slots } = this.#options;
    this.#turnsMax = Math.min(slots.open + this.#locked, turnsPerTenant);
    return findParked(sql, { afterTenant, tenantsMax: tenantsPerLook, turnsMax: this.#turnsMax });
  }

  async #claim(tenants: readonly ParkedTenant[]): Promise<Claimed> {
    const waiting = tenants.map((tenant) => ({ ...tenant, turns: [...tenant.turns] }));
    const outcomes = await this.#claimAll(waiting);
    const claimed = outcomes.filter((outcome) => outcome === "claimed").length;
    const mayHaveMore = (tenant: ParkedTenant) => tenant.turns.length === 0 && this.#options.slots.mayTake(tenant);
    const full = waiting.filter((_, place) => tenants[place]?.turns.length === this.#turnsMax);
    this.#locked = outcomes.filter((outcome) => outcome === "busy").length;
    if (this.#locked > 0) this.lot.lookLater(lockedPauseMs);
    return { claimed, again: (claimed > 0 && full.some(mayHaveMore)) || outcomes.includes("gone") };
  }

  /** Claims turns, and takes them from `waiting`, as long as a tenant may take a slot: also one that another turn did not keep. Returns what became of each. */
  async #claimAll(waiting: readonly Waiting[]): Promise<PickOutcome[]> {
    // Tenants whose first turn in line is being claimed elsewhere, or whose limit is reached: the others would only overtake it.
    const closed = new Map<string, PickOutcome>();
    const outcomes: PickOutcome[] = [];
    for (;;) {
      const claims = this.#claimRound(waiting, closed);
      if (claims.length === 0) return outcomes;
      outcomes.push(...(await Promise.all(claims)));
    }
  }

  #claimRound(waiting: readonly Waiting[], closed: Map<string, PickOutcome>): Promise<PickOutcome>[] {
    const claims: Promise<PickOutcome>[] = [];
    // Each of these waits for a lock of its tenant on a pooled connection: one at a time is enough.
    let counted: Promise<unknown> = Promise.resolve();
    for (;;) {
      const tenant = this.#options.slots.next(
        waiting.filter(({ tenantId, turns }) => turns.length > 0 && !closed.has(tenantId)),
      );
      const turn = tenant?.turns.shift();
      if (tenant === undefined || turn === undefined) return claims;
      const { tenantId, limited } = tenant;
      this.#options.slots.take(tenant);
      const claim = () =>
        this.#options.claim({ turnId: turn.id, lockKey: turn.lockKey, tenantId }, limited ? "counted" : "parked");
      const claimNext = async () => {
        const known = closed.get(tenantId);
        if (known !== undefined) this.#options.slots.release(tenantId);
        const outcome = known ?? (await claim());
        if (outcome !== "claimed" && outcome !== "gone") closed.set(tenantId, outcome);
        return outcome;
      };
      const claiming = limited ? counted.then(claimNext) : claim();
      if (limited) counted = claiming;
      claims.push(claiming);
    }
  }
}
