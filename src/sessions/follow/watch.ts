import type { Ctx } from "../../kernel/context.ts";
import type { Sql } from "../../kernel/database/client.ts";
import { turnWatchAwayMs, turnWatchMs } from "../../kernel/limits.ts";
import type { Relay } from "../../kernel/relay/relay.ts";
import { completeTurnLog } from "../end/complete-turn-log.ts";
import { isEnded, type LogState, logAttemptOf, logKeyOf, logStates } from "../state/turn-log.ts";

/**
 * Notifies followers when Postgres says that their log has moved on, in case the relay
 * cannot: one query a second for all followed logs of the process. A turn that ends
 * within the first second never costs a query. While the relay is away it is asked more often, because nothing
 * else says then that a turn has ended. A log that nobody has ended, because no worker
 * had its turn, is ended in the relay, so that its followers get its end from there.
 */
export class TurnWatch {
  readonly #sql: Sql;
  readonly #relay: Relay;
  readonly #watched = new Map<string, Set<Watcher>>();
  #timer: ReturnType<typeof setInterval> | null = null;
  #asking = false;
  #askedAtMs = 0;

  constructor({ sql, relay }: Pick<Ctx, "sql" | "relay">) {
    this.#sql = sql;
    this.#relay = relay;
  }

  /** Calls `moved` once, when the log is complete or another attempt writes it. Returns a function that stops watching. */
  watch(logId: string, attempt: number, moved: (state: LogState | null) => void): () => void {
    const watcher: Watcher = { attempt, moved };
    const watchers = this.#watched.get(logId) ?? new Set();
    watchers.add(watcher);
    this.#watched.set(logId, watchers);
    if (this.#timer === null) {
      this.#askedAtMs = performance.now();
      this.#timer = setInterval(() => this.#tick(), turnWatchAwayMs);
    }
    return () => this.#forget(logId, watcher);
  }

  #forget(logId: string, watcher: Watcher): void {
    const watchers = this.#watched.get(logId);
    watchers?.delete(watcher);
    if (watchers?.size === 0) this.#watched.delete(logId);
    if (this.#watched.size === 0 && this.#timer !== null) {
      clearInterval(this.#timer);
      this.#timer = null;
    }
  }

  #tick(): void {
    const everyMs = this.#relay.away ? turnWatchAwayMs : turnWatchMs;
    // A timer may be early by a fraction.
    if (performance.now() - this.#askedAtMs >= everyMs - turnWatchAwayMs / 2) void this.#ask();
  }

  async #ask(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    this.#askedAtMs = performance.now();
    try {
      const ids = [...this.#watched.keys()];
      const states = new Map((await logStates(this.#sql, ids)).map((state) => [state.id, state]));
      for (const id of ids) this.#tell(id, states.get(id) ?? null);
    } catch {
      // Postgres is away; the next interval asks again.
    } finally {
      this.#asking = false;
    }
  }

  #tell(logId: string, state: LogState | null): void {
    for (const watcher of [...(this.#watched.get(logId) ?? [])]) {
      if (state !== null && !hasMoved(state, watcher.attempt)) continue;
      this.#forget(logId, watcher);
      watcher.moved(state);
    }
    if (state !== null && isEnded(state.status) && state.relayEvents === null) this.#complete(state);
  }

  /** This may fail: followers end by what Postgres says, a little later. */
  #complete(state: LogState): void {
    completeTurnLog({ sql: this.#sql, relay: this.#relay }, { ...state, key: logKeyOf(state) }).catch(() => {});
  }
}

interface Watcher {
  readonly attempt: number;
  readonly moved: (state: LogState | null) => void;
}

/** Returns whether a turn log is complete, or is written by a later attempt than the one that is followed. */
export function hasMoved(state: LogState, attempt: number): boolean {
  return isEnded(state.status) || logAttemptOf(state) > attempt;
}
