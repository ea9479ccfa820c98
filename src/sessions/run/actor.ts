import postgres from "postgres";
import { sleep } from "../../kernel/async/wait.ts";
import { addressOf } from "../../kernel/database/address.ts";
import { camelCaseColumns, type Sql, withLongStartup } from "../../kernel/database/client.ts";
import { withDeadline } from "../../kernel/database/deadline.ts";
import { isReadOnly, isTransient } from "../../kernel/database/failure.ts";
import { plainlyEnding } from "../../kernel/database/socket.ts";
import { type IdOf, newId } from "../../kernel/ids.ts";
import { databaseWaitMs, lockWaitMs, workerBeatMs, workerDeadMs } from "../../kernel/limits.ts";
import { fallsTo, listenersMax } from "../../kernel/queue/lot.ts";
import { forgetWorkers } from "../../kernel/queue/recover.ts";
import type { Logger } from "../../kernel/telemetry/log.ts";
import { sessionsHeld } from "../../kernel/telemetry/metrics.ts";
import type { ClaimedTurn } from "../state/claimed-turn.ts";
import { parkedChannel } from "../state/parked.ts";
import { readAhead } from "../state/read-history.ts";
import { hasJob, unclaimTurn } from "../state/turn.ts";
import { type QueuedTurn, queuedChannel, readAnnouncement } from "../state/turn-job.ts";
import { writeBeat } from "./beat.ts";
import { Channels } from "./channels.ts";
import { type AskedClaim, busyOrGone, type ClaimRefusal, claimCounted, claimTurn } from "./claim.ts";
import { lockMissing, releaseLock, sendReleases } from "./session-lock.ts";

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

/** What an actor needs of its process. */
export interface ActorOptions {
  readonly databaseUrl: string;
  readonly slots: number;
  readonly pool: Sql;
  readonly log: Logger;
}

/** The name of the channel on which cancellations are announced; a beat finds those that were missed. */
export const cancelChannel = "parley_cancel";

/**
 * Holds the sessions of a worker process: one connection with the advisory locks
 * of all sessions whose turns run here, and the worker's beat (its heartbeat). The
 * locks end with the process; the beat tells a frozen process from a busy one
 * (docs/architecture.md, "One turn at a time" and docs/workers.md, "Dead and frozen workers").
 */
export class Actor {
  readonly workerId = newId("worker");
  readonly applicationName = `parley-${this.workerId}`;
  readonly #log: Logger;
  readonly #databaseUrl: string;
  readonly #slots: number;
  readonly #pool: Sql;
  #sql: Sql;
  readonly #running = new Map<string, RunningTurn>();
  /** The sessions whose locks are held, by the turn that runs. */
  readonly #locked = new Map<string, string>();
  /** Turns that are being claimed, and what comes of it: a second claim of the same turn would take the lock that this connection holds already. */
  readonly #claiming = new Map<string, Promise<RunningTurn | ClaimRefusal>>();
  #backendPid: number | null = null;
  #beating: ReturnType<typeof setInterval> | null = null;
  /** When the last beat that Postgres took began. */
  #beatTakenAt = 0;
  /** When the beat under way began. */
  #beatSince: number | null = null;
  #queueNames: readonly string[] = [];
  #drainAsked = false;
  #handsOver = false;
  #listens = true;
  /** How many older workers had room at the last beat. */
  #place = 0;
  readonly #channels: Channels;
  /** Called once, when an operator asks this worker to take no new jobs (`queue drain`). */
  onDrainAsked: () => void = () => {};

  /** Workers of the installation that beat, this one included; as of the last beat. */
  workersBeating = 1;
  /** How many of them have a free slot for a turn. */
  workersWithRoom = 1;
  /** How many of them listen for announced jobs, and how many of those have a free slot. */
  workersListening = 1;
  listenersWithRoom = 1;
  /** Called when this worker begins or ceases to listen for jobs. */
  onListens: (listens: boolean) => void = () => {};

  /** Called with a turn that was announced and falls to this worker, which has room for it. */
  onQueued: (turn: QueuedTurn) => void = () => {};
  /** Called with the id of a tenant that has a parked turn, and with null when a beat found that there are any. */
  onParked: (tenantId: string | null) => void = () => {};

  /** `slots` is the number of turns that this worker runs at once; `pool` is the process's pool. */
  constructor({ databaseUrl, slots, pool, log }: ActorOptions) {
    this.#slots = slots;
    this.#pool = pool;
    this.#log = log.child({ workerId: this.workerId });
    this.#databaseUrl = databaseUrl;
    this.#sql = this.#open();
    const hear = {
      [cancelChannel]: (turnId: string) => this.stop(turnId, "canceled"),
      [parkedChannel]: (tenantId: string) => this.onParked(tenantId),
      [queuedChannel]: (payload: string) => this.#hearQueued(readAnnouncement(payload)),
    };
    this.#channels = new Channels(
      () => this.#sql,
      hear,
      (error) => this.#noteDeaf(error),
    );
  }

  /** Each worker that listens and has room takes its share of what is announced. */
  #hearQueued(turn: QueuedTurn): void {
    if (!this.#listens || !this.hasRoom) return;
    if (fallsTo(turn.turnId, { place: this.#place, workers: this.listenersWithRoom })) this.onQueued(turn);
  }

  #noteDeaf(error: unknown): void {
    this.#log.warn({ err: error }, "cancellations and parked turns are noticed by the beat only");
  }

  #open(): Sql {
    const address = addressOf(this.#databaseUrl);
    const connection = postgres(withLongStartup(address), {
      max: 1,
      // The connection is the lock: it must not be closed for being idle or old.
      idle_timeout: 0,
      max_lifetime: null,
      connect_timeout: 10,
      backoff: (attempt) => Math.min(0.05 * 2 ** attempt, 1),
      types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
      transform: camelCaseColumns,
      ...plainlyEnding({ address }),
      ssl: false,
      onnotice: () => {},
      connection: { application_name: this.applicationName },
    });
    // The driver asks for the types of arrays first, but sends the first statement before it has noted them: on Deno
    // the arrays of a first beat were seen to go out as plain text, which Postgres refuses.
    connection`select`.catch(() => {});
    // The driver may forget a query when its connection breaks; a claim that waited for it would keep its job for ever.
    return withDeadline(connection, lockQueryMs, { pipelined: true });
  }

  /** Connects, writes this worker's row, and listens for cancellations and parked turns. */
  async start(): Promise<void> {
    await this.#beat();
    await this.#channels.begin();
    this.#beating = setInterval(() => void this.#tryBeat(), workerBeatMs);
  }

  /** Whether this worker listens for announced jobs: where many have room, only some do. */
  get listens(): boolean {
    return this.#listens;
  }

  #setListens(listens: boolean): void {
    if (listens !== this.#listens) this.onListens(listens);
    this.#listens = listens;
    this.#channels.want(listens || this.#running.size > 0);
  }

  /** Notes under which names the queue locks this process's jobs, so that they can be given back when it dies. */
  nameInQueue(names: readonly string[]): void {
    this.#queueNames = names;
    this.#beat().catch((error) => this.#log.warn({ err: error }, "the queue's name is not noted yet"));
  }

  /** Whether another turn may run here. */
  get hasRoom(): boolean {
    return !this.#drainAsked && this.#running.size < this.#slots;
  }

  /** Turns that run here now. */
  get turns(): readonly RunningTurn[] {
    return [...this.#running.values()];
  }

  /** From now on each turn stops at the end of the step under way and goes on at another worker; in its last step it ends here. */
  handOver(): void {
    this.#handsOver = true;
  }

  /** Tells a turn to stop, if it runs here. */
  stop(turnId: string, reason: StopReason): void {
    const running = this.#running.get(turnId);
    if (running !== undefined && !running.stop.signal.aborted) running.stop.abort(reason);
  }

  /**
   * Takes the session's lock and claims the turn, for `run`. Returns why it was not claimed: also `gone` when
   * somebody here has just claimed it, and `busy` when the lock of a job's turn stayed held for `lockWaitMs`. Throws when
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
      isSurelyOurs: () => this.#isSurelyAlive,
      isHandedOver: () => this.#handsOver || this.#drainAsked,
      freeSession: () => this.#freeSession(turnId),
    };
    this.#running.set(turnId, running);
    this.#locked.set(turnId, lockKey);
    sessionsHeld.inc();
    this.#channels.want(true);
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
    releaseLock(this.#sql, lockKey).catch((error) =>
      this.#log.warn({ err: error, turnId }, "a session's lock was not released"),
    );
  }

  async #claim(asked: AskedClaim): Promise<ClaimedTurn | ClaimRefusal> {
    const { turnId, lockKey, way } = asked;
    const awayUntil = Date.now() + databaseWaitMs;
    let busyUntil = Date.now() + lockWaitMs;
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
          if (unsure && (await unclaimTurn(this.#sql, turnId, this.workerId))) continue;
          return claimed;
        }
        // A parked turn is found again; who tries to claim it meanwhile may try others.
        if ((!hasJob(way) && !unsure) || Date.now() > busyUntil) return claimed;
      } catch (error) {
        // A statement that fails keeps the lock it took; one that lost its connection lost that too.
        releaseLock(this.#sql, lockKey).catch(() => {});
        if (!isTransient(error) || Date.now() > awayUntil) throw error;
        unsure = true;
        busyUntil = Date.now() + lockWaitMs;
      }
      await sleep(pauseMs);
    }
  }

  #tryClaim(asked: AskedClaim): Promise<ClaimedTurn | ClaimRefusal> {
    // An earlier claim of the turn ends here, and its lock is this connection's own.
    if (this.#running.has(asked.turnId)) return busyOrGone(this.#sql, asked.turnId);
    if (asked.way !== "counted") return claimTurn(this.#sql, this.workerId, asked);
    return claimCounted({ lockSql: this.#sql, sql: this.#pool }, this.workerId, asked);
  }

  get #isSurelyAlive(): boolean {
    return Date.now() - this.#beatTakenAt < workerDeadMs;
  }

  async #tryBeat(): Promise<void> {
    if (this.#beatSince !== null) {
      if (Date.now() - this.#beatSince > databaseWaitMs) this.#reopen();
      return;
    }
    const since = Date.now();
    this.#beatSince = since;
    try {
      await this.#beat();
    } catch (error) {
      this.#log.warn({ err: error }, "the worker could not beat");
      if (isReadOnly(error)) this.#reopen();
    } finally {
      if (this.#beatSince === since) this.#beatSince = null;
    }
  }

  /** Replaces a connection on which a beat hangs: without beats this worker would be treated as frozen. */
  #reopen(): void {
    this.#log.warn("the lock connection does not answer and is given up");
    const hanging = this.#sql;
    this.#sql = this.#open();
    this.#beatSince = null;
    hanging.end({ timeout: 0 }).catch(() => {});
    this.#channels.begin().catch((error) => this.#noteDeaf(error));
  }

  /** Renews this worker's row, takes the locks again after a reconnect, and stops turns whose cancellation was announced while this process did not listen. */
  async #beat(): Promise<void> {
    const beganAt = Date.now();
    const row = await writeBeat(this.#sql, {
      workerId: this.workerId,
      applicationName: this.applicationName,
      queueNames: this.#queueNames,
      slots: this.#slots,
      hasRoom: this.hasRoom,
      listens: this.#listens,
      turnIds: [...this.#running.keys()],
    });
    this.#beatTakenAt = beganAt;
    for (const turnId of row.canceled) this.stop(turnId, "canceled");
    this.workersBeating = row.beating;
    this.workersWithRoom = row.withRoom;
    this.workersListening = row.listening;
    this.listenersWithRoom = row.listeningWithRoom;
    this.#place = row.before;
    this.#setListens(row.before < listenersMax);
    if (row.parked) this.onParked(null);
    if (row.drain && !this.#drainAsked) {
      this.#drainAsked = true;
      this.onDrainAsked();
    }
    const before = this.#backendPid;
    this.#backendPid = row.pid;
    if (before !== null && before !== row.pid) await this.#lockAgain(before);
  }

  /**
   * The locks of the previous connection ended with it, or will: where the server has
   * not noticed its end, that connection is terminated. Turns that were claimed since
   * have their locks already, and a second lock would be held longer than they run. A
   * turn whose lock cannot be taken again belongs to another worker now.
   */
  async #lockAgain(pidBefore: number): Promise<void> {
    await this.#sql`
      select /* worker.end_connection */ pg_terminate_backend(pid) from pg_stat_activity
      where pid = ${pidBefore} and application_name = ${this.applicationName} and pid <> pg_backend_pid()`;
    const expiresAt = Date.now() + lockWaitMs;
    let foreign = await lockMissing(this.#sql, this.#lockKeys);
    while (foreign.size > 0 && Date.now() < expiresAt) {
      await sleep(lockAgainMs);
      foreign = await lockMissing(this.#sql, this.#lockKeys);
    }
    for (const [turnId, lockKey] of this.#locked) if (foreign.has(lockKey)) this.stop(turnId, "fenced");
    this.#log.warn({ turns: this.#running.size, lost: foreign.size }, "the lock connection was made anew");
  }

  get #lockKeys(): string[] {
    return [...this.#locked.values()];
  }

  /** Ends the beat and the connection; locks that are still held go with it. Never rejects, whatever state Postgres is in. */
  async close(): Promise<void> {
    if (this.#beating !== null) clearInterval(this.#beating);
    // What is to be sent is sent now, because after `end` nothing is. Locks first: they are released in groups.
    sendReleases(this.#sql);
    // Jobs whose end the queue could not write while Postgres was away are given back with the row.
    const gone = { names: this.#queueNames, inOrder: true };
    forgetWorkers(this.#sql, this.#sql`w.id = ${this.workerId}`, gone).then(null, () => {});
    // Ending waits for what was sent, up to its limit.
    await this.#sql.end({ timeout: closeSeconds }).catch(() => {});
  }
}

/**
 * A statement on the lock connection ends within this. It is longer than the time after
 * which a connection with a hanging beat is replaced.
 */
const lockQueryMs = 2 * databaseWaitMs;
/** Pause between tries to take a lock that a connection which is just ending still holds. */
const lockAgainMs = 100;
/** A closing lock connection waits this long for its last statements. */
const closeSeconds = 3;
