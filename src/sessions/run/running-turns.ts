import { sleep } from "../../kernel/async/wait.ts";
import type { Sql } from "../../kernel/database/client.ts";
import { isTransient } from "../../kernel/database/failure.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { databaseWaitMs, lockTryMs, lockWaitMs } from "../../kernel/limits.ts";
import type { Logger } from "../../kernel/telemetry/log.ts";
import { sessionsHeld } from "../../kernel/telemetry/metrics.ts";
import type { ClaimedTurn } from "../state/claimed-turn.ts";
import { hasJob, unclaimTurn } from "../state/turn.ts";
import { readAhead } from "../transcript/read-history.ts";
import { type AskedClaim, busyOrGone, type ClaimRefusal, claimCounted, claimTurn } from "./claim.ts";
import type { HeldTurns, LockConnection } from "./lock-connection.ts";
import { releaseLock } from "./session-lock.ts";

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
  readonly #claiming = new Map<string, Promise<RunningTurn | ClaimRefusal>>();
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
    const { turnId } = asked;
    const underWay = this.#claiming.get(turnId);
    if (underWay !== undefined) {
      const outcome = await underWay;
      return typeof outcome === "string" ? outcome : "gone";
    }
    const claiming = this.#claimToRun(asked).finally(() => this.#claiming.delete(turnId));
    this.#claiming.set(turnId, claiming);
    return claiming;
  }

  async #claimToRun(asked: AskedClaim): Promise<RunningTurn | ClaimRefusal> {
    const { turnId, lockKey } = asked;
    const turn = await this.#claim(asked);
    if (typeof turn === "string") return turn;
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
    let busyUntil = Date.now() + lockTryMs;
    let unsure = false;
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
          if (unsure && (await unclaimTurn(this.#connection.sql, turnId, this.#connection.workerId))) continue;
          return claimed;
        }
        // A parked turn is found again; who tries to claim it meanwhile may try others.
        if ((!hasJob(way) && !unsure) || Date.now() > busyUntil) return claimed;
      } catch (error) {
        // A statement that fails keeps the lock it took; one that lost its connection lost that too.
        releaseLock(this.#connection.sql, lockKey).catch(() => {});
        if (!isTransient(error) || Date.now() > awayUntil) throw error;
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
