import { AsyncLocalStorage } from "node:async_hooks";
import { Batcher } from "../../kernel/async/batcher.ts";
import type { Ctx } from "../../kernel/context.ts";
import type { JobPayloads } from "../../kernel/queue/catalogue.ts";
import { fallsTo, isChosen, lateMs } from "../../kernel/queue/lot.ts";
import { observeJob } from "../../kernel/queue/observe-job.ts";
import type { Paused } from "../../kernel/queue/pauses.ts";
import { parkTurns } from "../state/parked.ts";
import type { ClaimWay } from "../state/turn.ts";
import type { QueuedTurn } from "../state/turn-job.ts";
import type { OfferedSlot } from "../state/turn-taker.ts";
import type { AskedClaim } from "./claim.ts";
import type { LockConnection } from "./lock-connection.ts";
import { ParkedTurns, type PickOutcome } from "./parked-turns.ts";
import type { RunningTurn, RunningTurns } from "./running-turns.ts";
import { TurnSlots } from "./slots.ts";

/** One statement parks at most this many turns. */
const parkGroupMax = 500;
/** A queued turn, and whether this worker may have claimed it already. */
type ClaimableTurn = QueuedTurn & Pick<AskedClaim, "isUnsure">;
/** What a dispatcher needs of its process. */
interface DispatcherOptions {
  readonly ctx: Ctx;
  readonly connection: LockConnection;
  readonly turns: RunningTurns;
  /** Runs a claimed turn to its end. */
  readonly run: (running: RunningTurn) => Promise<void>;
  /** Called for each announced turn that this worker has not claimed: its job may be left. */
  readonly onLeft: () => void;
}

/**
 * Decides which turn a slot of this worker goes to (docs/workers.md, "Slots"). A job
 * whose tenant may take a slot is claimed and run at once. Any other turn is parked: its row
 * waits, its job is done, and whichever worker has a slot for its tenant picks it. A worker
 * picks when a slot gets free, when a parked turn is announced, and with its beat, and only
 * while it knows of parked turns: without any, none of this costs a statement.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #slots: TurnSlots;
  readonly #parker: Batcher<string, undefined>;
  readonly #parked: ParkedTurns;
  /** Claims of announced turns that are under way. */
  readonly #claiming = new Set<Promise<unknown>>();
  /** Turns that were picked, or announced, and run now. */
  readonly #picked = new Set<Promise<void>>();
  readonly #outside = AsyncLocalStorage.snapshot();
  #stopped = false;

  constructor(options: DispatcherOptions) {
    const { sql, log, config } = options.ctx;
    this.#options = options;
    this.#slots = new TurnSlots(config.workerConcurrency);
    this.#parked = new ParkedTurns({ sql, log, slots: this.#slots, claim: (turn, way) => this.#claim(turn, way) });
    this.#parker = new Batcher(
      async (turnIds) => {
        await parkTurns(sql, turnIds);
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
      const running = await this.#options.turns.claim({ turnId, lockKey, tenantId, way: "job" });
      if (typeof running !== "string") await this.#options.turns.run(running, this.#options.run);
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
    if (this.#stopped || !this.#options.connection.listens) return;
    if (!this.#isForHere(turn) || !this.#takeSlot(turn.tenantId)) {
      this.#options.onLeft();
      return;
    }
    this.#claimForJob(turn);
  }

  /** Claims a turn in the slot that was taken for it, in place of its job. */
  #claimForJob(turn: ClaimableTurn): void {
    const claiming = this.#claim(turn, "job").then((outcome) => {
      this.#claiming.delete(claiming);
      if (outcome === "claimed") return;
      this.#options.onLeft();
      // Its slot is free again, and a parked turn may have waited for one.
      this.#parked.lot.lookIfWaiting();
    });
    this.#claiming.add(claiming);
  }

  /** Takes a slot for a turn that is just being accepted in this process; null where it may not run here now. */
  offer(turn: QueuedTurn): OfferedSlot | null {
    const { connection, turns } = this.#options;
    if (this.#stopped || !connection.listens || !connection.isSurelyAlive || !this.#isForHere(turn)) return null;
    if (!this.#takeSlot(turn.tenantId)) return null;
    const { lockKey, tenantId } = turn;
    if (!turns.reserve(lockKey)) {
      this.#slots.release(tenantId);
      return null;
    }
    const used = Promise.withResolvers<void>();
    this.#claiming.add(used.promise);
    // What the request carries from call to call belongs to no turn.
    const settle = (use: () => void) => {
      this.#outside(use);
      this.#claiming.delete(used.promise);
      used.resolve();
    };
    return {
      begin: (claimed) => settle(() => this.#begin(turns.begin(claimed, lockKey))),
      leave: (isLocked) =>
        settle(() => {
          turns.unreserve(lockKey, isLocked);
          this.#release(tenantId);
        }),
      claimAgain: () =>
        settle(() => {
          turns.unreserve(lockKey, true);
          this.#claimForJob({ ...turn, isUnsure: true });
        }),
    };
  }

  #isForHere({ turnId }: QueuedTurn): boolean {
    const { peers } = this.#options.connection;
    const place = { place: peers.olderWithRoom, workers: peers.listeningWithRoom };
    return this.#options.turns.hasRoom && fallsTo(turnId, place);
  }

  #takeSlot(tenantId: string): boolean {
    // The last slot is for the turn that is just being picked.
    const { isLooking, known } = this.#parked.lot;
    if (isLooking && this.#slots.open <= 1) return false;
    return this.#slots.take(known.get(tenantId) ?? { tenantId, weight: 1 });
  }

  /** Picks nothing more, and resolves when all that was picked has ended. Never rejects. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([this.#parked.lot.stop(), ...this.#claiming]);
    await Promise.all(this.#picked);
  }

  async #park(turnId: string, tenantId: string): Promise<void> {
    await this.#parker.add(turnId);
    this.hear(tenantId);
  }

  /** Hears that a tenant (null: some tenant) has a parked turn. */
  hear(tenantId: string | null): void {
    const { lot } = this.#parked;
    const known = tenantId === null ? undefined : lot.known.get(tenantId);
    lot.note(known ?? null);
    if (known !== undefined && !this.#slots.mayTake(known)) return;
    // All workers hear of it: a few look at once, the others a little later.
    const workers = tenantId === null ? 1 : Math.max(1, this.#options.connection.peers.listeningWithRoom);
    const pauseMs = Math.max(lot.restMs, isChosen(workers) ? 0 : lateMs(workers));
    if (pauseMs > 0) lot.lookLater(pauseMs);
    else lot.look();
  }

  /** Begins no turns of these tenants, until a later call says otherwise. Parked ones are then found by the beat. */
  pause(paused: Paused): void {
    this.#slots.pause(paused);
  }

  #release(tenantId: string): void {
    this.#slots.release(tenantId);
    this.#parked.lot.lookIfWaiting();
  }

  /** Claims a turn in the slot that was taken for it, and begins to run it. Never rejects. */
  async #claim(turn: ClaimableTurn, way: ClaimWay): Promise<PickOutcome> {
    const { turnId, tenantId } = turn;
    try {
      const running = await this.#options.turns.claim({ ...turn, way });
      if (typeof running !== "string") {
        this.#begin(running);
        return "claimed";
      }
      this.#slots.release(tenantId);
      return running;
    } catch (error) {
      this.#slots.release(tenantId);
      this.#options.ctx.log.warn({ err: error, turnId }, "a turn could not be claimed");
      return "failed";
    }
  }

  #begin(running: RunningTurn): void {
    const { id, tenantId } = running.turn;
    const run = observeJob("turn", () => this.#options.turns.run(running, this.#options.run))
      // The reaper finds the turn.
      .catch((error) =>
        this.#options.ctx.log.error({ err: error, turnId: id }, "a turn that was claimed without its job broke off"),
      )
      .finally(() => {
        this.#picked.delete(run);
        this.#release(tenantId);
      });
    this.#picked.add(run);
  }
}
