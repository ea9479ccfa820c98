import { Batcher } from "../../kernel/async/batcher.ts";
import type { Ctx } from "../../kernel/context.ts";
import type { JobPayloads } from "../../kernel/queue/catalogue.ts";
import { fallsTo, isChosen, lateMs } from "../../kernel/queue/lot.ts";
import { observeJob } from "../../kernel/queue/observe-job.ts";
import { findParked, type ParkedTenant, parkTurns } from "../state/parked.ts";
import type { ClaimWay } from "../state/turn.ts";
import type { QueuedTurn } from "../state/turn-job.ts";
import type { LockConnection } from "./lock-connection.ts";
import type { RunningTurn, RunningTurns } from "./running-turns.ts";
import { TurnSlots } from "./slots.ts";

/** One statement parks at most this many turns. */
const parkGroupMax = 500;
/** One statement looks at the parked turns of at most this many tenants, and at this many turns of each. */
const tenantsPerLook = 100;
const turnsPerTenant = 16;
/** Weights of at most about this many tenants are remembered. */
const weightsMax = 10_000;
/** After a look that found nothing to run, the next announcement of a parked turn waits this long, so that a flood of them costs no flood of looks. */
const fruitlessPauseMs = 25;
/** A parked turn whose session is still locked is tried again after this long, and then with the beat. */
const lockedPauseMs = 50;

/** What a dispatcher needs of its process. */
interface DispatcherOptions {
  readonly ctx: Ctx;
  readonly connection: LockConnection;
  readonly turns: RunningTurns;
  /** Runs a claimed turn to its end. */
  readonly run: (running: RunningTurn) => Promise<void>;
}

/**
 * Decides which turn a slot of this worker goes to (docs/workers.md, "Slots"). A job
 * whose tenant may take a slot is claimed and run at once. Any other turn is parked: its row
 * waits, its job is done, and whichever worker has a slot for its tenant picks it. A worker
 * picks when a slot gets free, when a parked turn is announced, and with its beat, and only
 * while it knows of parked turns: without any, none of this costs a statement.
 */
export class Dispatcher {
  readonly #ctx: Ctx;
  readonly #connection: LockConnection;
  readonly #turns: RunningTurns;
  readonly #run: (running: RunningTurn) => Promise<void>;
  readonly #slots: TurnSlots;
  readonly #parker: Batcher<string, undefined>;
  /** The weights of the tenants that the last looks found; a tenant that is not here counts as 1. */
  readonly #weights = new Map<string, number>();
  /** Claims of announced turns that are under way. */
  readonly #claiming = new Set<Promise<unknown>>();
  /** Turns that were picked, or announced, and run now. */
  readonly #picked = new Set<Promise<void>>();
  /** Whether there may be parked turns. */
  #parked = false;
  /** How often parked turns were announced: a look does not see what is announced while it is under way. */
  #announced = 0;
  #picking: Promise<void> | null = null;
  #again = false;
  #stopped = false;
  #fruitlessUntil = 0;
  /** How many turns the last look found whose sessions are locked: the next one looks behind them. */
  #locked = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** Looks go on behind this tenant, so that each gets its turn however many have parked turns. */
  #afterTenant = "";

  constructor({ ctx, connection, turns, run }: DispatcherOptions) {
    this.#ctx = ctx;
    this.#connection = connection;
    this.#turns = turns;
    this.#run = run;
    this.#slots = new TurnSlots(ctx.config.workerConcurrency);
    this.#parker = new Batcher(
      async (turnIds) => {
        await parkTurns(ctx.sql, turnIds);
        return turnIds.map(() => undefined);
      },
      { countMax: parkGroupMax },
    );
  }

  /** Runs the turn of a job to its end, or parks it. Throws as `RunningTurns.claim` and what running it throws. */
  async take({ turnId, lockKey, tenantId }: JobPayloads["turn"]): Promise<void> {
    if (!this.#takeSlot(tenantId)) return this.#park(turnId, tenantId);
    let mustWait = false;
    try {
      const running = await this.#turns.claim({ turnId, lockKey, tenantId, way: "job" });
      if (typeof running !== "string") await this.#turns.run(running, this.#run);
      // A session that stays locked (the worker of the turn before is frozen, or has lost its connection) is looked at again and
      // again, without that anything failed.
      mustWait = running === "waits" || running === "busy";
    } finally {
      this.#release(tenantId);
    }
    if (mustWait) await this.#park(turnId, tenantId);
  }

  /**
   * Claims and runs a turn that was announced, in place of its job; leaves it to its job where it may not run here now. Each
   * worker that listens and has room takes its share of what is announced.
   */
  takeAnnounced(turn: QueuedTurn): void {
    const { listens, peers } = this.#connection;
    if (!listens || !this.#turns.hasRoom) return;
    if (!fallsTo(turn.turnId, { place: peers.olderWithRoom, workers: peers.listeningWithRoom })) return;
    if (this.#stopped || !this.#takeSlot(turn.tenantId)) return;
    const claiming = this.#claim(turn, "announced").then((outcome) => {
      this.#claiming.delete(claiming);
      // Its slot is free again, and a parked turn may have waited for one.
      if (outcome !== "claimed" && this.#parked) this.#pick();
    });
    this.#claiming.add(claiming);
  }

  #takeSlot(tenantId: string): boolean {
    // The last slot is for the turn that is just being picked.
    if (this.#picking !== null && this.#slots.open <= 1) return false;
    return this.#slots.take({ tenantId, weight: this.#weightOf(tenantId) });
  }

  /** Picks nothing more, and resolves when all that was picked has ended. Never rejects. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await Promise.all([this.#picking, ...this.#claiming]);
    await Promise.all(this.#picked);
  }

  async #park(turnId: string, tenantId: string): Promise<void> {
    this.#parked = true;
    await this.#parker.add(turnId);
    this.hear(tenantId);
  }

  /** Hears that a tenant (null: some tenant) has a parked turn. */
  hear(tenantId: string | null): void {
    this.#parked = true;
    this.#announced += 1;
    const weight = tenantId === null ? undefined : this.#weights.get(tenantId);
    if (tenantId !== null && weight !== undefined && !this.#slots.mayTake({ tenantId, weight })) return;
    // All workers hear of it: a few look at once, the others a little later.
    const workers = tenantId === null ? 1 : Math.max(1, this.#connection.peers.listeningWithRoom);
    const pauseMs = Math.max(this.#fruitlessUntil - Date.now(), isChosen(workers) ? 0 : lateMs(workers));
    if (pauseMs > 0) this.#pickLater(pauseMs);
    else this.#pick();
  }

  #release(tenantId: string): void {
    this.#slots.release(tenantId);
    if (this.#parked) this.#pick();
  }

  #weightOf(tenantId: string): number {
    return this.#weights.get(tenantId) ?? 1;
  }

  #pickLater(pauseMs: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#pick();
    }, pauseMs);
  }

  /** Picks what may run, one pick at a time. */
  #pick(): void {
    if (this.#stopped || this.#slots.open < 1) return;
    this.#again = true;
    this.#picking ??= this.#pickAll().finally(() => {
      this.#picking = null;
      if (this.#again) this.#pick();
    });
  }

  async #pickAll(): Promise<void> {
    try {
      while (this.#again && this.#mayPick) {
        this.#again = false;
        await this.#pass();
      }
    } catch (error) {
      // The next beat tries again.
      this.#again = false;
      this.#ctx.log.warn({ err: error }, "parked turns could not be looked for");
    }
  }

  get #mayPick(): boolean {
    return !this.#stopped && this.#slots.open > 0;
  }

  /** Looks at each tenant with parked turns once, beginning where the last pass stopped. */
  async #pass(): Promise<void> {
    const announced = this.#announced;
    const first = this.#afterTenant;
    let found = 0;
    let claimed = 0;
    for (let wrapped = false; this.#mayPick && !(wrapped && this.#afterTenant >= first); ) {
      const look = await this.#look();
      found += look.found;
      claimed += look.claimed;
      if (!look.isLast) continue;
      if (wrapped || first === "") break;
      wrapped = true;
    }
    if (claimed === 0) this.#fruitlessUntil = Date.now() + fruitlessPauseMs;
    if (found > 0 || !this.#mayPick || announced !== this.#announced) return;
    this.#parked = false;
    this.#weights.clear();
  }

  /** Makes one look, and claims what the rule gives a slot to. */
  async #look(): Promise<{ found: number; claimed: number; isLast: boolean }> {
    const turnsMax = Math.min(this.#slots.open + this.#locked, turnsPerTenant);
    const afterTenant = this.#afterTenant;
    const tenants = await findParked(this.#ctx.sql, { afterTenant, tenantsMax: tenantsPerLook, turnsMax });
    const isLast = tenants.length < tenantsPerLook;
    this.#afterTenant = isLast
      ? ""
      : (tenants
          .map(({ tenantId }) => tenantId)
          .sort()
          .at(-1) ?? "");
    if (this.#weights.size > weightsMax) this.#weights.clear();
    for (const { tenantId, weight } of tenants) this.#weights.set(tenantId, weight);
    const waiting = tenants.map((tenant) => ({ ...tenant, turns: [...tenant.turns] }));
    const outcomes = await this.#claimAll(waiting);
    const claimed = outcomes.filter((outcome) => outcome === "claimed").length;
    const mayHaveMore = (tenant: ParkedTenant) => tenant.turns.length === 0 && this.#slots.mayTake(tenant);
    const full = waiting.filter((_, place) => tenants[place]?.turns.length === turnsMax);
    if ((claimed > 0 && full.some(mayHaveMore)) || outcomes.includes("gone")) this.#again = true;
    this.#locked = outcomes.filter((outcome) => outcome === "busy").length;
    if (this.#locked > 0) this.#pickLater(lockedPauseMs);
    return { found: tenants.length, claimed, isLast };
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
      const tenant = this.#slots.next(
        waiting.filter(({ tenantId, turns }) => turns.length > 0 && !closed.has(tenantId)),
      );
      const turn = tenant?.turns.shift();
      if (tenant === undefined || turn === undefined) return claims;
      const { tenantId, limited } = tenant;
      this.#slots.take(tenant);
      const claim = () =>
        this.#claim({ turnId: turn.id, lockKey: turn.lockKey, tenantId }, limited ? "counted" : "parked");
      const claimNext = async () => {
        const known = closed.get(tenantId);
        if (known !== undefined) this.#slots.release(tenantId);
        const outcome = known ?? (await claim());
        if (outcome !== "claimed" && outcome !== "gone") closed.set(tenantId, outcome);
        return outcome;
      };
      const claiming = limited ? counted.then(claimNext) : claim();
      if (limited) counted = claiming;
      claims.push(claiming);
    }
  }

  /** Claims a turn in the slot that was taken for it, and begins to run it. Never rejects. */
  async #claim(turn: QueuedTurn, way: ClaimWay): Promise<PickOutcome> {
    const { turnId, tenantId } = turn;
    try {
      const running = await this.#turns.claim({ ...turn, way });
      if (typeof running !== "string") {
        this.#begin(running);
        return "claimed";
      }
      this.#slots.release(tenantId);
      return running;
    } catch (error) {
      this.#slots.release(tenantId);
      this.#ctx.log.warn({ err: error, turnId }, "a turn could not be claimed");
      return "failed";
    }
  }

  #begin(running: RunningTurn): void {
    const { id, tenantId } = running.turn;
    const run = observeJob("turn", () => this.#turns.run(running, this.#run))
      // The reaper finds the turn.
      .catch((error) =>
        this.#ctx.log.error({ err: error, turnId: id }, "a turn that was claimed without its job broke off"),
      )
      .finally(() => {
        this.#picked.delete(run);
        this.#release(tenantId);
      });
    this.#picked.add(run);
  }
}

/** A tenant with the parked turns of it that are not claimed yet. */
type Waiting = ParkedTenant & { readonly turns: ParkedTenant["turns"][number][] };

/** What became of a turn that was picked: `busy`, its session is locked; `gone`, it is not queued any more; `waits`, its tenant's limit is reached. */
type PickOutcome = "claimed" | "busy" | "gone" | "waits" | "failed";
