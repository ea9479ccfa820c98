import { clearInterval, setInterval } from "node:timers";
import type { Ctx } from "../../kernel/context.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { authorizationOf } from "../auth/authorization.ts";
import { connectTimeoutMs, sessionIdleMs, sessionSweepMs, sessionsMax, toolListsBytesMax } from "../limits.ts";
import { recordProtocol } from "../status.ts";
import type { McpConnectionRow } from "../store.ts";
import { serverFetch } from "../wire/fetches.ts";
import { McpSession, SessionLostError } from "./session.ts";

interface Entry {
  readonly version: number;
  readonly session: Promise<McpSession>;
  /** The session, once it is open. */
  opened: McpSession | null;
  users: number;
  usedAt: number;
  /** It gets no further users, and closes when its last user has finished. */
  isRetired: boolean;
}

/**
 * The MCP sessions of a process, one per connection, kept between turns. A session
 * is replaced when the server does not know it any more, when it failed, and when
 * the connection's credentials have changed. It is closed after five minutes
 * without use; above 256 sessions the least recently used is closed first.
 */
export class SessionPool {
  readonly #ctx: Ctx;
  /** By connection id, the least recently used first. */
  readonly #entries = new Map<IdOf<"mcpConnection">, Entry>();
  #sweeper: ReturnType<typeof setInterval> | null = null;

  constructor(ctx: Ctx) {
    this.#ctx = ctx;
  }

  /**
   * Runs `work` on the connection's session. When the server does not know the
   * session any more, `work` had no effect, and runs once more on a new session.
   * Throws what `work` throws, and errors that `failureOf` reads.
   */
  async use<T>(connection: McpConnectionRow, work: (session: McpSession) => Promise<T>): Promise<T> {
    try {
      return await this.#useOnce(connection, work);
    } catch (error) {
      if (!(error instanceof SessionLostError)) throw error;
      return this.#useOnce(connection, work);
    }
  }

  async #useOnce<T>(connection: McpConnectionRow, work: (session: McpSession) => Promise<T>): Promise<T> {
    const entry = this.#enter(connection);
    try {
      return await work(await entry.session);
    } catch (error) {
      if (error instanceof SessionLostError) this.#retire(connection.id, entry);
      throw error;
    } finally {
      entry.users--;
      entry.usedAt = Date.now();
      this.#boundLists();
      if (entry.isRetired) this.#closeWhenFree(entry);
    }
  }

  /** The number of sessions that are open or opening. */
  get size(): number {
    return this.#entries.size;
  }

  /** Closes the sessions without users now, and the others when their last user has finished. */
  close(): void {
    for (const [id, entry] of this.#entries) this.#retire(id, entry);
  }

  #enter(connection: McpConnectionRow): Entry {
    const { id, credentialVersion } = connection;
    let entry = this.#entries.get(id);
    // A turn that began before the change uses the newer session.
    if (entry !== undefined && entry.version < credentialVersion) {
      this.#retire(id, entry);
      entry = undefined;
    }
    entry ??= this.#open(connection);
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    entry.users++;
    return entry;
  }

  #open(connection: McpConnectionRow): Entry {
    const ctx = this.#ctx;
    const target = {
      url: connection.url,
      send: serverFetch(ctx, connection.tenantId),
      authorization: authorizationOf(ctx, connection),
      protocolVersion: connection.protocolVersion,
    };
    const session = McpSession.open(target, AbortSignal.timeout(connectTimeoutMs));
    const entry: Entry = {
      version: connection.credentialVersion,
      session,
      opened: null,
      users: 0,
      usedAt: Date.now(),
      isRetired: false,
    };
    session.then(
      (opened) => {
        entry.opened = opened;
        const { protocolVersion } = opened;
        if (protocolVersion !== connection.protocolVersion)
          recordProtocol(ctx.sql, connection, protocolVersion).catch((error: unknown) => {
            ctx.log.debug({ mcpConnectionId: connection.id, err: error }, "the protocol's revision is not kept");
          });
      },
      () => this.#retire(connection.id, entry),
    );
    for (const [id, oldest] of this.#entries) {
      if (this.#entries.size < sessionsMax) break;
      this.#retire(id, oldest);
    }
    this.#sweeper ??= setInterval(() => this.#sweep(), sessionSweepMs).unref();
    return entry;
  }

  /** Forgets the tool lists of the least recently used sessions, until the others are within `toolListsBytesMax`. */
  #boundLists(): void {
    let bytes = 0;
    for (const { opened } of this.#entries.values()) bytes += opened?.listBytes ?? 0;
    for (const { opened } of this.#entries.values()) {
      if (bytes <= toolListsBytesMax) return;
      bytes -= opened?.listBytes ?? 0;
      opened?.forgetTools();
    }
  }

  #sweep(): void {
    for (const [id, entry] of this.#entries)
      if (entry.users === 0 && entry.usedAt + sessionIdleMs < Date.now()) this.#retire(id, entry);
  }

  #retire(id: IdOf<"mcpConnection">, entry: Entry): void {
    if (this.#entries.get(id) === entry) this.#entries.delete(id);
    if (!entry.isRetired) {
      entry.isRetired = true;
      this.#closeWhenFree(entry);
    }
    if (this.#entries.size > 0 || this.#sweeper === null) return;
    clearInterval(this.#sweeper);
    this.#sweeper = null;
  }

  #closeWhenFree(entry: Entry): void {
    if (entry.users > 0) return;
    entry.session.then(
      (session) => session.close(),
      () => {},
    );
  }
}

/** One pool per process, kept with its context. */
const pools = new WeakMap<Ctx, SessionPool>();

/** Returns the process's pool. */
export function sessionPoolOf(ctx: Ctx): SessionPool {
  const known = pools.get(ctx);
  if (known !== undefined) return known;
  const pool = new SessionPool(ctx);
  pools.set(ctx, pool);
  return pool;
}
