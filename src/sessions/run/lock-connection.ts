import postgres from "postgres";
import { sleep } from "../../kernel/async/wait.ts";
import { addressOf } from "../../kernel/database/address.ts";
import { camelCaseColumns, type Sql, withLongStartup } from "../../kernel/database/client.ts";
import { withDeadline } from "../../kernel/database/deadline.ts";
import { isReadOnly } from "../../kernel/database/failure.ts";
import { vanishedHostSettings } from "../../kernel/database/keepalive.ts";
import { statementTimeoutMs } from "../../kernel/database/pooler-limits.ts";
import { plainlyEnding } from "../../kernel/database/socket.ts";
import { newId } from "../../kernel/ids.ts";
import { databaseWaitMs, lockWaitMs, workerBeatMs, workerDeadMs } from "../../kernel/limits.ts";
import { listenersMax } from "../../kernel/queue/lot.ts";
import { type Paused, toPaused } from "../../kernel/queue/pauses.ts";
import { forgetWorkers } from "../../kernel/queue/recover.ts";
import type { Logger } from "../../kernel/telemetry/log.ts";
import { lockMissing, sendReleases } from "../state/session-lock.ts";
import { AgainSoon } from "./again-soon.ts";
import { type Others, writeBeat } from "./beat.ts";

/** What runs in this process, as its beat tells it. */
export interface HeldTurns {
  /** Whether another turn may run here. */
  readonly hasRoom: boolean;
  /** The turns that run here. */
  readonly turnIds: readonly string[];
  /** The sessions whose locks are held, by the turn that runs. */
  readonly locked: ReadonlyMap<string, string>;
}

/** What a lock connection learns. */
export interface LockEvents {
  /** What is announced to workers, by the name of its channel. It is heard while this one listens. */
  readonly onAnnounced: Readonly<Record<string, (payload: string) => void>>;
  /** The worker listens for jobs from now on; what was announced before is to be looked for. */
  readonly onListening: () => void;
  /** What an operator has paused, as each beat reads it. */
  readonly onPaused: (paused: Paused) => void;
  /** A beat found parked turns. */
  readonly onParked: () => void;
  /** A turn that runs here was cancelled, or another worker has its session's lock. */
  readonly onStopped: (turnId: string, reason: "canceled" | "fenced") => void;
  /** An operator asks this worker to take no new jobs (`queue drain`). Called once. */
  readonly onDrainAsked: () => void;
}

/** What a lock connection needs of its process. */
export interface LockConnectionOptions extends LockEvents {
  readonly databaseUrl: string;
  /** Turns that this worker runs at once. */
  readonly slots: number;
  readonly log: Logger;
  readonly running: () => HeldTurns;
}

/**
 * The connection of a worker process that holds the advisory locks of all sessions whose turns run here, sends the
 * worker's beat (its heartbeat), and hears what is announced. The locks end with the process; the beat tells a frozen process from a
 * busy one (docs/architecture.md, "One turn at a time" and docs/workers.md, "Dead and frozen workers").
 */
export class LockConnection {
  readonly workerId = newId("worker");
  readonly applicationName = `parley-${this.workerId}`;
  readonly #options: LockConnectionOptions;
  readonly #log: Logger;
  #sql: Sql;
  #backendPid: number | null = null;
  #beating: ReturnType<typeof setInterval> | null = null;
  /** When the last beat that Postgres took began. */
  #beatTakenAt = 0;
  /** Beats between two beats: until the connection is made again this worker hears nothing, and new turns wait. */
  readonly #soon = new AgainSoon(() => void this.#tryBeat(), workerBeatMs);
  /** When the beat under way began. */
  #beatSince: number | null = null;
  #queueNames: readonly string[] = [];
  #isDraining = false;
  #others: Others = { withRoom: 0, listening: 0, listeningWithRoom: 0, olderWithRoom: 0 };
  /** Whether the connection was told to listen or not to; null: neither since it was made. */
  #told: boolean | null = null;

  constructor(options: LockConnectionOptions) {
    this.#options = options;
    this.#log = options.log.child({ workerId: this.workerId });
    this.#sql = this.#open();
  }

  #open(): Sql {
    const { databaseUrl, onAnnounced } = this.#options;
    return openLockConnection(databaseUrl, this.applicationName, {
      onnotify: (channel, payload) => onAnnounced[channel]?.(payload),
      // The beat listens again.
      onclose: () => {
        this.#told = null;
        if (this.#beating !== null) this.#soon.noteClosed();
      },
    });
  }

  /** The connection as it is now. */
  get sql(): Sql {
    return this.#sql;
  }

  /** Whether Postgres had this worker's beat so lately that no other worker can have taken its turns. */
  get isSurelyAlive(): boolean {
    return Date.now() - this.#beatTakenAt < workerDeadMs;
  }

  /** How many older workers have room, how many have, and how many listen: of the last beat, with this one as it is now. */
  get peers(): Others {
    const { withRoom, listening, listeningWithRoom, olderWithRoom } = this.#others;
    const { hasRoom } = this.#options.running();
    return {
      withRoom: withRoom + Number(hasRoom),
      listening: listening + Number(this.listens),
      listeningWithRoom: listeningWithRoom + Number(hasRoom && this.listens),
      olderWithRoom,
    };
  }

  /** Whether this worker listens for announced jobs: where many have room, only some do. */
  get listens(): boolean {
    return this.#others.olderWithRoom < listenersMax;
  }

  /** Connects, writes this worker's row, and listens. Throws when Postgres is away. */
  async start(): Promise<void> {
    await this.#beat();
    await this.tune();
    this.#beating = setInterval(() => void this.#tryBeat(), workerBeatMs);
  }

  /** Notes under which names the queue locks this process's jobs, so that they can be given back when it dies. */
  nameInQueue(names: readonly string[]): void {
    this.#queueNames = names;
    this.#beat().catch((error) => this.#log.warn({ err: error }, "the queue's name is not noted yet"));
  }

  /** Begins to listen, or ceases to, where that has changed: a worker that runs turns hears of their cancellation. Never rejects. */
  async tune(): Promise<void> {
    const listens = this.listens || this.#options.running().turnIds.length > 0;
    if (this.#told === listens) return;
    this.#told = listens;
    const { onAnnounced, onListening } = this.#options;
    const listen = Object.keys(onAnnounced).map((channel) => `listen "${channel}"`);
    try {
      await this.#sql.unsafe(listens ? listen.join("; ") : "unlisten *");
      // One that only runs turns begins and ceases with each of them, and finds the rest with its beat.
      if (this.listens) onListening();
    } catch (error) {
      this.#told = null;
      this.#log.warn({ err: error }, "cancellations and parked turns are noticed by the beat only");
    }
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
      void this.tune();
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
    this.#told = null;
    this.#beatSince = null;
    hanging.end({ timeout: 0 }).catch(() => {});
  }

  /** Renews this worker's row, takes the locks again after a reconnect, and stops turns whose cancellation was announced while this process did not listen. */
  async #beat(): Promise<void> {
    const { slots, onParked, onPaused, onStopped, onDrainAsked, running } = this.#options;
    const { workerId, applicationName, listens } = this;
    const beganAt = Date.now();
    const { hasRoom, turnIds } = running();
    const queueNames = this.#queueNames;
    const beat = { workerId, applicationName, queueNames, slots, hasRoom, listens, turnIds };
    const { pid, drain, parked, paused, canceled, ...others } = await writeBeat(this.#sql, beat);
    this.#beatTakenAt = beganAt;
    this.#soon.noteAnswer();
    for (const turnId of canceled) onStopped(turnId, "canceled");
    this.#others = others;
    onPaused(toPaused(paused));
    if (parked) onParked();
    if (drain && !this.#isDraining) {
      this.#isDraining = true;
      onDrainAsked();
    }
    const before = this.#backendPid;
    this.#backendPid = pid;
    if (before === pid) return;
    this.#sql
      .unsafe(vanishedHostSettings)
      .catch((error) => this.#log.warn({ err: error }, "a lock connection of a vanished host would be kept"));
    if (before !== null) await this.#lockAgain(before);
  }

  /**
   * The locks of the previous connection ended with it, or will: where the server has
   * not noticed its end, that connection is terminated. Turns that were claimed since
   * have their locks already, and a second lock would be held longer than they run. A
   * turn whose lock cannot be taken again belongs to another worker now.
   */
  async #lockAgain(pidBefore: number): Promise<void> {
    const { running, onStopped } = this.#options;
    await this.#sql`
      select /* worker.end_connection */ pg_terminate_backend(pid) from pg_stat_activity
      where pid = ${pidBefore} and application_name = ${this.applicationName} and pid <> pg_backend_pid()`;
    const expiresAt = Date.now() + lockWaitMs;
    const missing = () => lockMissing(this.#sql, [...running().locked.values()]);
    let foreign = await missing();
    while (foreign.size > 0 && Date.now() < expiresAt) {
      await sleep(lockAgainMs);
      foreign = await missing();
    }
    for (const [turnId, lockKey] of running().locked) if (foreign.has(lockKey)) onStopped(turnId, "fenced");
    this.#log.warn({ turns: running().turnIds.length, lost: foreign.size }, "the lock connection was made anew");
  }

  /** Ends the beat and the connection; locks that are still held go with it. Never rejects, whatever state Postgres is in. */
  async close(): Promise<void> {
    if (this.#beating !== null) clearInterval(this.#beating);
    this.#beating = null;
    this.#soon.stop();
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
 * Options of the driver, of which its types lack the first. Its `listen` is not used: that opens another connection,
 * and where Postgres does not take that one back at once when it broke, the driver (3.4.9) keeps the channel's failure and
 * never listens again.
 */
interface Hearing {
  readonly onnotify: (channel: string, payload: string) => void;
  readonly onclose: () => void;
}

/**
 * All that runs here finds its rows by keys. Postgres keeps a plan that it made while the queue was empty, and reads the
 * whole table of jobs for each turn then, when that has hundreds of pages: 22,000 for a claim of 25 turns, and Postgres
 * computed twice as much for a turn.
 */
const byKeys = "set enable_seqscan = off";
/** Nothing waits here for long: the beat would wait too. What is given up here has ended at the server before. */
const waitsLittle = `set lock_timeout = ${lockWaitMs}; set statement_timeout = ${statementTimeoutMs}`;

function openLockConnection(databaseUrl: string, applicationName: string, hearing: Hearing): Sql {
  const address = addressOf(databaseUrl);
  const connection = postgres(withLongStartup(address), {
    max: 1,
    // The connection is the lock: it must not be closed for being idle or old.
    idle_timeout: 0,
    max_lifetime: null,
    connect_timeout: 10,
    backoff: (attempt) => Math.min(0.05 * 2 ** attempt, 1),
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
    transform: camelCaseColumns,
    ...plainlyEnding({ address, begin: `${byKeys}; ${waitsLittle}` }),
    ssl: false,
    ...hearing,
    onnotice: () => {},
    connection: { application_name: applicationName },
  });
  // The driver asks for the types of arrays first, but sends the first statement before it has noted them: on Deno
  // the arrays of a first beat were seen to go out as plain text, which Postgres refuses.
  connection`select`.catch(() => {});
  // The driver may forget a query when its connection breaks; a claim that waited for it would keep its job for ever.
  return withDeadline(connection, lockQueryMs, { pipelined: true });
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
