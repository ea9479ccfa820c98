import type { Sql } from "../../kernel/database/client.ts";
import type { IdOf } from "../../kernel/ids.ts";
import type { ClaimedTurn } from "./claimed-turn.ts";
import type { QueuedTurn } from "./turn-job.ts";

/** A slot for a turn that is just being accepted, and the right to its session's lock. It is used once. */
export interface OfferedSlot {
  /** Runs the turn, which was claimed in this slot, with its session's lock. */
  begin(turn: ClaimedTurn): void;
  /** Gives the slot back. `isLocked`: the lock is held, or may be. */
  leave(isLocked: boolean): void;
  /** The turn was written, but what became of its claim was lost with the connection: claims it anew, or takes that claim back first. */
  claimAgain(): void;
}

/** A worker of this process, for those who accept turns in it. */
export interface TurnTaker {
  /** Its lock connection; `sql` is asked for each time, because a broken one is made anew. */
  readonly connection: { readonly workerId: IdOf<"worker">; readonly sql: Sql };
  /** Takes a slot for a turn that is to be accepted; null where it may not run here now. */
  offer(turn: QueuedTurn): OfferedSlot | null;
}

const takers = new WeakMap<Sql, TurnTaker>();

/** From now on turns that are accepted with a pool are offered to this taker. */
export function takeTurnsOf(pool: Sql, taker: TurnTaker): void {
  takers.set(pool, taker);
}

/** Returns the worker of this process that may take turns which are accepted with a pool; undefined: there is none. */
export function takerOf(pool: Sql): TurnTaker | undefined {
  return takers.get(pool);
}
