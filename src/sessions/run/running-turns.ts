import { sleep } from "../../kernel/async/wait.ts";
import type { Sql } from "../../kernel/database/client.ts";
import { isUnavailable } from "../../kernel/database/failure.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { databaseWaitMs, lockTryMs, lockWaitMs } from "../../kernel/limits.ts";
import type { Logger } from "../../kernel/telemetry/log.ts";
import { sessionsHeld } from "../../kernel/telemetry/metrics.ts";
import type { ClaimedTurn } from "../state/claimed-turn.ts";
import { releaseLock } from "../state/session-lock.ts";
import { hasJob, unclaimTurn } from "../state/turn.ts";
import { readAhead } from "../transcript/read-history.ts";
import { type AskedClaim, busyOrGone, type ClaimRefusal, claimCounted, claimTurn } from "./claim.ts";
import type { HeldTurns, LockConnection } from "./lock-connection.ts";

/** Why a running turn is told to stop. */
export type StopReason = "canceled" | "fenced" | "drained" | "timed_out" | "limit_reached" | "too_large" | "stood";

/** A turn this process runs. */
export interface RunningTurn {
  readonly turn: ClaimedTurn;
  /** Aborts with a `StopReason`. */
  readonly stop: AbortController;
  /** Whether no other worker can have taken the turn: Postgres had this worker's beat less than `workerDeadMs` ago. */
  readonly isSurelyOurs: () => boolean;
  /** Whether this worker drains: the turn is handed over once the step under way is complete. */
  readonly isHandedOver: () => boolean;
  /** Releases the session's lock, once: for a turn whose row says that it does not run any more, while its readers are still told. */
  readonly freeSession: () => void;
}

/** What running turns need of their process. */
interface RunningTurnsOptions {
  readonly connection: LockConnection;
  readonly slots: number;
  /** The process's pool. */
  readonly pool: Sql;
  /** Whether the pool leads through a pooler: then turns are claimed there, and only locked on the lock connection. */
  readonly isPooled: boolean;
  readonly log: Logger;
}

/** A claim that is under way, and what comes of it. */
interface Claiming {
  readonly lockKey: string;
  readonly outcome: Promise<RunningTurn | ClaimRefusal>;
}

/** The turns that a worker process runs, each with the lock of its session on the worker's lock connection. */
export class RunningTurns {
  readonly #connection: LockConnection;
  readonly #slots: number;
  readonly #pool: Sql;
  readonly #pooled: Sql | null;
  readonly #log: Logger;
  readonly #running = new Map<string, RunningTurn>();
  /** The sessions whose locks are held, by the turn that runs. */
  readonly #locked = new Map<string, string>();
  /** Turns that are being claimed, and what comes of it: a second claim of the same turn would take the lock that this connection holds already. */
  readonly #claiming = new Map<string, Claiming>();
  /** The locks of turns that are just being accepted for a slot here; resolved when it is known whether they are held. */
  readonly #reserved = new Map<string, PromiseWithResolvers<void>>();
  #isDraining = false;

  constructor({ connection, slots, pool, isPooled, log }: RunningTurnsOptions) {
    this.#connection = connection;
    this.#slots = slots;
    this.#pool = pool;
    this.#pooled = isPooled ? pool : null;
    this.#log = log.child({ workerId: connection.workerId });
  }

  /** Whether another turn may run here. */
  get hasRoom(): boolean {
    return !this.#isDraining && this.#running.size < this.#slots;
  }

  /** Turns that run here now. */
  get turns(): readonly RunningTurn[] {
    return [...this.#running.values()];
  }

  /** What the beat tells of them. */
  get state(): HeldTurns {
    return { hasRoom: this.hasRoom, turnIds: [...this.#running.keys()], locked: this.#locked };
  }

  /** From now on there is no room, and each turn stops at the end of the step under way and goes on at another worker; in its last step it ends here. */
  handOver(): void {
    this.#isDraining = true;
  }

  /** Tells a turn to stop, if it runs here. */
  stop(turnId: string, reason: StopReason): void {
    const running = this.#running.get(turnId);
    if (running !== undefined && !running.stop.signal.aborted) running.stop.abort(reason);
  }

  /**
   * Takes the session's lock and claims the turn, for `run`. Returns why it was not claimed: also `gone` when
   * somebody here has just claimed it, and `busy` when the lock of a job's turn stayed held for `lockTryMs`. Throws when
   * Postgres is away longer than `databaseWaitMs`; the queue then tries again.
   */
  async claim(asked: AskedClaim): Promise<RunningTurn | ClaimRefusal> {
    const { turnId, lockKey } = asked;
    // Otherwise either could release what the other holds, where one of both fails.
    for (let held = this.#reserved.get(lockKey); held !== undefined; held = this.#reserved.get(lockKey))
      await held.promise;
    const underWay = this.#claiming.get(turnId);
    if (underWay !== undefined) {
      const outcome = await underWay.outcome;
      return typeof outcome === "string" ? outcome : "gone";
    }
    const outcome = this.#claimToRun(asked).finally(() => this.#claiming.delete(turnId));
    this.#claiming.set(turnId, { lockKey, outcome });
    return outcome;
  }

  /**
   * Reserves a session's lock for a turn that is just being accepted. Returns false where this connection holds it, or may: a second
   * hold would succeed, and after a statement that failed it could not be known which of both it has left.
   */
  reserve(lockKey: string): boolean {
    if (this.#reserved.has(lockKey)) return false;
    for (const held of this.#locked.values()) if (held === lockKey) return false;
    for (const claiming of this.#claiming.values()) if (claiming.lockKey === lockKey) return false;
    this.#reserved.set(lockKey, Promise.withResolvers());
    return true;
  }

  /** Gives a reserved lock back. `isLocked`: it is held, or may be: to release one that nothing here holds has no effect. */
  unreserve(lockKey: string, isLocked: boolean): void {
    if (isLocked) releaseLock(this.#connection.sql, lockKey).catch(() => {});
    this.#endReservation(lockKey);
  }

  /** Begins a turn that was claimed while it was accepted, whose lock was reserved. */
  begin(turn: ClaimedTurn, lockKey: string): RunningTurn {
    const running = this.#add(turn, lockKey);
    this.#endReservation(lockKey);
    return running;
  }

  #endReservation(lockKey: string): void {
    this.#reserved.get(lockKey)?.resolve();
    this.#reserved.delete(lockKey);
  }

  async #claimToRun(asked: AskedClaim): Promise<RunningTurn | ClaimRefusal> {
    const turn = await this.#claim(asked);
    return typeof turn === "string" ? turn : this.#add(turn, asked.lockKey);
  }

  #add(turn: ClaimedTurn, lockKey: string): RunningTurn {
    const turnId = turn.id;
    const running: RunningTurn = {
      turn,
      stop: new AbortController(),
      isSurelyOurs: () => this.#connection.isSurelyAlive,
      isHandedOver: () => this.#isDraining,
      freeSession: () => this.#freeSession(turnId),
    };
    this.#running.set(turnId, running);
    this.#locked.set(turnId, lockKey);
    sessionsHeld.inc();
    void this.#connection.tune();
    return running;
  }

  /** Runs `work` for a turn that was claimed here, and releases the session's lock. Throws what `work` throws. */
  async run(running: RunningTurn, work: (running: RunningTurn) => Promise<void>): Promise<void> {
    try {
      await work(running);
    } finally {
      this.#running.delete(running.turn.id);
      sessionsHeld.dec();
      running.freeSession();
    }
  }

  /** Not awaited: the turn's row already says that the session is free. */
  #freeSession(turnId: string): void {
    const lockKey = this.#locked.get(turnId);
    if (lockKey === undefined) return;
    this.#locked.delete(turnId);
    releaseLock(this.#connection.sql, lockKey).catch((error) =>
      this.#log.warn({ err: error, turnId }, "a session's lock was not released"),
    );
  }

  async #claim(asked: AskedClaim): Promise<ClaimedTurn | ClaimRefusal> {
    const { turnId, lockKey, way } = asked;
    const awayUntil = Date.now() + databaseWaitMs;
    let unsure = asked.isUnsure ?? false;
    let busyUntil = Date.now() + (unsure ? lockWaitMs : lockTryMs);
    // For the first try alone: what was read may be old when the turn is claimed at last.
    let ahead = readAhead(this.#pool, {
      turnId: turnId as IdOf<"turn">,
      sessionId: lockKey as IdOf<"session">,
      tenantId: asked.tenantId as IdOf<"tenant">,
    });
    for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 2, 100), ahead = null) {
      try {
        const claimed = await this.#tryClaim(asked);
        if (typeof claimed !== "string") return { ...claimed, ahead };
        if (claimed !== "busy") {
          if (
            unsure &&
            !this.#running.has(turnId) &&
            (await unclaimTurn(this.#connection.sql, turnId, this.#connection.workerId))
          )
            continue;
          return claimed;
        }
        // A parked turn is found again; who tries to claim it meanwhile may try others.
        if ((!hasJob(way) && !unsure) || Date.now() > busyUntil) return claimed;
      } catch (error) {
        // A statement that fails keeps the lock it took; one that lost its connection lost that too.
        releaseLock(this.#connection.sql, lockKey).catch(() => {});
        if (!isUnavailable(error) || Date.now() > awayUntil) throw error;
        unsure = true;
        busyUntil = Date.now() + lockWaitMs;
      }
      await sleep(pauseMs);
    }
  }

  #tryClaim(asked: AskedClaim): Promise<ClaimedTurn | ClaimRefusal> {
    // An earlier claim of the turn ends here, and its lock is this connection's own.
    if (this.#running.has(asked.turnId)) return busyOrGone(this.#connection.sql, asked.turnId);
    const { sql: lockSql, workerId } = this.#connection;
    if (asked.way !== "counted") return claimTurn({ lockSql, pooled: this.#pooled }, workerId, asked);
    return claimCounted({ lockSql, sql: this.#pool }, workerId, asked);
  }
}
