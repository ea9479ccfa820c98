import type { Ctx } from "../../kernel/context.ts";
import type { AnySql } from "../../kernel/database/client.ts";
import { formatEvent, type LogKey } from "../../kernel/relay/relay.ts";
import { OpenEnds } from "../../messages/close-parts.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { TurnOutcome } from "../state/turn-end.ts";
import { logKeyOf, logStates } from "../state/turn-log.ts";
import { streamClosing } from "./close-stream.ts";
import { completeTurnLog } from "./complete-turn-log.ts";

/** The turn log of a turn that ended while no worker had it. */
export interface IdleLog {
  readonly key: LogKey;
  readonly turnId: string;
  /** All its events; null where it has some already, behind which it is completed. */
  readonly events: readonly unknown[] | null;
  readonly lastChunk: unknown;
}

/** The turn whose log ends. */
interface IdleTurn {
  readonly turnId: string;
  readonly attempt: number;
  readonly continuationId: string | null;
  /** The answer that its continuation goes on with; null for a new one. */
  readonly extended: UiMessage | null;
}

/** Returns the log that ends with a turn which no worker has, and how. */
export async function idleLogOf(sql: AnySql, turn: IdleTurn, outcome: TurnOutcome): Promise<IdleLog> {
  const { turnId, attempt, continuationId, extended } = turn;
  const { lastChunk } = outcome;
  const logId = continuationId ?? turnId;
  const [log] = attempt > 0 ? await logStates(sql, [logId]) : [];
  // A claim was lost, or handed back after a completed step, and readers have what it showed.
  if (log?.status === "running") return { key: logKeyOf(log), turnId, events: null, lastChunk };
  const open = new OpenEnds();
  open.begin(extended);
  const events = [...streamClosing(open, outcome), lastChunk];
  return { key: { logId, attempt: attempt + 1 }, turnId, events, lastChunk };
}

/**
 * Ends the log of a turn that has ended, in the relay. This is not awaited and may fail, because
 * followers also read the turn's row.
 */
export function endIdleLog(ctx: Pick<Ctx, "sql" | "relay" | "log">, ended: IdleLog): void {
  const { key, events } = ended;
  const { logId } = key;
  const told = events === null ? completeTurnLog(ctx, ended) : ctx.relay.end(key, batchOf(logId, events));
  told.catch((error) => {
    ctx.log.debug({ err: error, logId }, "the relay was not told of the end of a turn that nobody ran");
  });
}

function batchOf(logId: string, events: readonly unknown[]) {
  const sse = events.map((chunk, index) => formatEvent(logId, 1 + index, chunk)).join("");
  return { first: 1, count: events.length, sse };
}
