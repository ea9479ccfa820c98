import { clearInterval, setInterval } from "node:timers";
import type { Ctx } from "../kernel/context.ts";
import { authorizationOf } from "./authorization.ts";
import { serverFetch } from "./fetches.ts";
import { connectTimeoutMs, sessionIdleMs, sessionSweepMs, sessionsMax } from "./limits.ts";
import { McpSession, SessionLostError } from "./session.ts";
import type { McpConnectionRow } from "./store.ts";

interface Entry {
  readonly version: number;
  readonly session: Promise<McpSession>;
  users: number;
  usedAt: number;
  /** Nobody new may use it; it closes when its last user is done. */
  isRetired: boolean;
}

/**
 * The MCP sessions of a process, one a connection, kept between turns. A session
 * is opened anew when the server has forgotten it, when it failed, and when the
 * connection's credentials have changed; it is closed when it was not used for a
 * while, and the least recently used goes first when there are too many.
 */
export class SessionPool {
  private readonly ctx: Ctx;
  /** By connection id, the least recently used first. */
  private readonly entries = new Map<string, Entry>();
  private sweeper: ReturnType<typeof setInterval> | null = null;

  constructor(ctx: Ctx) {
    this.ctx = ctx;
  }

  /**
   * Runs `work` on the connection's session. When the server has forgotten the
   * session, `work` did nothing, and is run once more on a new one. Throws what
   * `work` throws, and what `failureOf` understands.
   */
  async use<T>(connection: McpConnectionRow, work: (session: McpSession) => Promise<T>): Promise<T> {
    try {
      return await this.useOnce(connection, work);
    } catch (error) {
      if (!(error instanceof SessionLostError)) throw error;
      return this.useOnce(connection, work);
    }
  }

  private async useOnce<T>(connection: McpConnectionRow, work: (session: McpSession) => Promise<T>): Promise<T> {
    const entry = this.enter(connection);
    try {
      return await work(await entry.session);
    } catch (error) {
      if (error instanceof SessionLostError) this.retire(connection.id, entry);
      throw error;
    } finally {
      entry.users--;
      entry.usedAt = Date.now();
      if (entry.isRetired) this.closeWhenFree(entry);
    }
  }

  /** How many sessions are open or opening. */
  get size(): number {
    return this.entries.size;
  }

  /** Closes every session that nobody uses, and the others as soon as they are free. */
  close(): void {
    for (const [id, entry] of this.entries) this.retire(id, entry);
  }

  private enter(connection: McpConnectionRow): Entry {
    const { id, credentialVersion } = connection;
    let entry = this.entries.get(id);
    // A turn that began before the change goes on with what is newer.
    if (entry !== undefined && entry.version < credentialVersion) {
      this.retire(id, entry);
      entry = undefined;
    }
    entry ??= this.open(connection);
    this.entries.delete(id);
    this.entries.set(id, entry);
    entry.users++;
    return entry;
  }

  private open(connection: McpConnectionRow): Entry {
    const { ctx } = this;
    const target = { url: connection.url, send: serverFetch(ctx), authorization: authorizationOf(ctx, connection) };
    const session = McpSession.open(target, AbortSignal.timeout(connectTimeoutMs));
    const entry: Entry = {
      version: connection.credentialVersion,
      session,
      users: 0,
      usedAt: Date.now(),
      isRetired: false,
    };
    session.catch(() => this.retire(connection.id, entry));
    for (const [id, oldest] of this.entries) {
      if (this.entries.size < sessionsMax) break;
      this.retire(id, oldest);
    }
    this.sweeper ??= setInterval(() => this.sweep(), sessionSweepMs).unref();
    return entry;
  }

  private sweep(): void {
    for (const [id, entry] of this.entries)
      if (entry.users === 0 && entry.usedAt + sessionIdleMs < Date.now()) this.retire(id, entry);
  }

  private retire(id: string, entry: Entry): void {
    if (this.entries.get(id) === entry) this.entries.delete(id);
    if (!entry.isRetired) {
      entry.isRetired = true;
      this.closeWhenFree(entry);
    }
    if (this.entries.size > 0 || this.sweeper === null) return;
    clearInterval(this.sweeper);
    this.sweeper = null;
  }

  private closeWhenFree(entry: Entry): void {
    if (entry.users > 0) return;
    entry.session.then(
      (session) => session.close(),
      () => {},
    );
  }
}

const pools = new WeakMap<Ctx, SessionPool>();

/** The process's pool. */
export function poolOf(ctx: Ctx): SessionPool {
  const known = pools.get(ctx);
  if (known !== undefined) return known;
  const pool = new SessionPool(ctx);
  pools.set(ctx, pool);
  return pool;
}
