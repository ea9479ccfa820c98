import type { Ctx } from "../../kernel/context.ts";
import type { AnySql } from "../../kernel/database/client.ts";
import { formatEvent, type LogKey } from "../../kernel/relay/relay.ts";
import { completeTurnLog } from "../state/complete-turn-log.ts";
import { logKeyOf, logStates } from "../state/turn-log.ts";

/** The turn log of a turn that no worker has. */
export interface IdleLog {
  readonly key: LogKey;
  /** It has events, after which another claim was to go on. */
  readonly isBegun: boolean;
}

/** Returns the log that ends with a turn which no worker has. */
export async function idleLogOf(
  sql: AnySql,
  turn: { readonly id: string; readonly attempt: number; readonly continuationId: string | null },
): Promise<IdleLog> {
  const id = turn.continuationId ?? turn.id;
  const [log] = turn.attempt > 0 ? await logStates(sql, [id]) : [];
  // A claim was lost or handed back after a completed step, and readers have what it showed.
  const isBegun = log?.status === "running";
  return { key: isBegun ? logKeyOf(log) : { logId: id, attempt: turn.attempt + 1 }, isBegun };
}

/** Returns how many events the log has once it is complete; null where nobody knows. */
export function eventsWithEnd({ isBegun }: IdleLog): number | null {
  return isBegun ? null : 1;
}

/**
 * Ends the log of a turn that has ended, in the relay. This is not awaited and may fail, because
 * followers also read the turn's row.
 */
export function endIdleLog({ relay, log }: Pick<Ctx, "relay" | "log">, ended: IdleLog, chunk: unknown): void {
  const { key, isBegun } = ended;
  const { logId } = key;
  const told = isBegun
    ? completeTurnLog(relay, key, chunk)
    : relay.end(key, { first: 1, count: 1, sse: formatEvent(logId, 1, chunk) });
  told.catch((error) => {
    log.debug({ err: error, logId }, "the relay was not told of the end of a turn that nobody ran");
  });
}
