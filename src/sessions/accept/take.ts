import { Batcher } from "../../kernel/async/batcher.ts";
import type { Sql } from "../../kernel/database/client.ts";
import { DeadlineError } from "../../kernel/database/deadline.ts";
import { isTransient } from "../../kernel/database/failure.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { acceptGroupCharsMax, acceptPatienceMs, claimGroupMax, groupPauseMs } from "../../kernel/limits.ts";
import { toClaimedTurn } from "../state/claimed-row.ts";
import { sendReleases } from "../state/session-lock.ts";
import { type OfferedSlot, type TurnTaker, takerOf } from "../state/turn-taker.ts";
import { insertTaken, type TakenRow } from "./accept-statement.ts";
import type { AcceptWord } from "./refusal.ts";
import { charsOf, type NewTurn } from "./turn-row.ts";

/** A turn that a worker of this process has a slot for. */
export interface OfferedTurn {
  readonly turn: NewTurn;
  readonly taker: TurnTaker;
  readonly slot: OfferedSlot;
}

/** What became of a turn; `unsure`: that was lost with the connection. */
type TakeWord = AcceptWord | "unsure";

/** What is taken by a worker of this process. */
interface Takes {
  readonly batcher: Batcher<OfferedTurn, TakeWord>;
  /** When the statement that is under way was sent; null: none is. */
  sentAt: number | null;
}

const takesOf = new WeakMap<TurnTaker, Takes>();

/**
 * Offers a turn to the worker of this process. Returns it with the slot that it was given; null where there is none, or the turn
 * needs more than one statement on that worker's lock connection may do.
 */
export function offerTurn(pool: Sql, turn: NewTurn): OfferedTurn | null {
  const { turnId, sessionId, key, hasBudgets } = turn;
  const taker = takerOf(pool);
  // A key may have to wait for another request with it, and nothing may wait on that connection.
  if (taker === undefined || key !== null || hasBudgets) return null;
  const sentAt = takesOf.get(taker)?.sentAt ?? null;
  if (sentAt !== null && Date.now() - sentAt > acceptPatienceMs) return null;
  const slot = taker.offer({ turnId, lockKey: sessionId ?? turnId, tenantId: turn.tenantId as IdOf<"tenant"> });
  return slot === null ? null : { turn, taker, slot };
}

/**
 * Accepts and claims a turn in one statement, on the lock connection of the worker that has a slot for it. Turns that come at
 * once share a statement. One that is written and could not be claimed has a job as any other. Unless it is `unsure`, the slot
 * is used or given back then.
 */
export function takeTurn(offered: OfferedTurn): Promise<TakeWord> {
  const { taker } = offered;
  const takes = takesOf.get(taker) ?? newTakes(taker);
  takesOf.set(taker, takes);
  return takes.batcher.add(offered);
}

function newTakes(taker: TurnTaker): Takes {
  const send = (offered: readonly OfferedTurn[]) => {
    takes.sentAt = Date.now();
    return take(taker, offered).finally(() => {
      takes.sentAt = null;
    });
  };
  const takes: Takes = {
    sentAt: null,
    batcher: new Batcher(send, {
      countMax: claimGroupMax,
      gathers: true,
      size: { of: ({ turn }) => charsOf(turn), max: acceptGroupCharsMax },
      pauseMs: groupPauseMs,
    }),
  };
  return takes;
}

async function take(taker: TurnTaker, offered: readonly OfferedTurn[]): Promise<TakeWord[]> {
  const turns = offered.map(({ turn }) => turn);
  const { sql: lockSql, workerId } = taker.connection;
  sendReleases(lockSql);
  let rows: readonly TakenRow[];
  try {
    rows = await insertTaken(lockSql, turns, workerId);
  } catch (error) {
    // The pool asks whether they were written, and writes them else.
    if (isTransient(error)) return offered.map(() => "unsure");
    // A statement that fails keeps the locks it took.
    for (const { slot } of offered) slot.leave(true);
    if (error instanceof DeadlineError) throw error;
    return offered.map(() => "locked");
  }
  const byTurn = new Map(rows.map((row) => [row.turnId, row]));
  return offered.map(({ turn, slot }) => settle(turn, slot, byTurn.get(turn.turnId) as TakenRow));
}

function settle({ newSession }: NewTurn, slot: OfferedSlot, row: TakenRow): AcceptWord {
  if (row.word === null) slot.begin(toClaimedTurn(row, { isFirst: newSession }));
  else slot.leave(row.locked);
  return row.word ?? "accepted";
}
