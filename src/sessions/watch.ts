import type { Sql } from "../db.ts";
import { turnWatchMs } from "../limits.ts";
import { isEnded, type TurnState, turnStates } from "./turns.ts";

/**
 * Tells followers when their turn has moved on in Postgres, in case the relay
 * cannot: one query a second for all followed turns of the process. A turn that
 * ends within the first second never costs a query.
 */
export class TurnWatch {
  private readonly sql: Sql;
  private readonly watched = new Map<string, Set<Watcher>>();
  private timer: ReturnType<typeof setInterval> | null = null;
  private asking = false;

  constructor(sql: Sql) {
    this.sql = sql;
  }

  /** Calls `moved` once, when the turn has ended, waits for a person, or is past `attempt`. Answers a function that stops watching. */
  watch(turnId: string, attempt: number, moved: (state: TurnState | null) => void): () => void {
    const watcher: Watcher = { attempt, moved };
    const watchers = this.watched.get(turnId) ?? new Set();
    watchers.add(watcher);
    this.watched.set(turnId, watchers);
    this.timer ??= setInterval(() => void this.ask(), turnWatchMs);
    return () => this.forget(turnId, watcher);
  }

  private forget(turnId: string, watcher: Watcher): void {
    const watchers = this.watched.get(turnId);
    watchers?.delete(watcher);
    if (watchers?.size === 0) this.watched.delete(turnId);
    if (this.watched.size === 0 && this.timer !== null) {
      clearInterval(this.timer);
      this.timer = null;
    }
  }

  private async ask(): Promise<void> {
    if (this.asking) return;
    this.asking = true;
    try {
      const ids = [...this.watched.keys()];
      const states = new Map((await turnStates(this.sql, ids)).map((state) => [state.id, state]));
      for (const id of ids) this.tell(id, states.get(id) ?? null);
    } catch {
      // Postgres is away; the next look asks again.
    } finally {
      this.asking = false;
    }
  }

  private tell(turnId: string, state: TurnState | null): void {
    for (const watcher of [...(this.watched.get(turnId) ?? [])]) {
      if (state !== null && !hasMoved(state, watcher.attempt)) continue;
      this.forget(turnId, watcher);
      watcher.moved(state);
    }
  }
}

interface Watcher {
  readonly attempt: number;
  readonly moved: (state: TurnState | null) => void;
}

/** Whether a turn is past the attempt whose log somebody follows. */
export function hasMoved(state: TurnState, attempt: number): boolean {
  return isEnded(state.status) || state.status === "waiting" || logAttemptOf(state) > attempt;
}

/** The attempt whose log holds a turn's chunks: a queued turn's will be the next one. */
export function logAttemptOf(state: { readonly status: string; readonly attempt: number }): number {
  return state.status === "queued" ? state.attempt + 1 : Math.max(1, state.attempt);
}
