import { retry } from "../../kernel/async/retry.ts";
import type { Sql } from "../../kernel/database/client.ts";
import { isUnavailable } from "../../kernel/database/failure.ts";
import { turnPatienceMs } from "../../kernel/limits.ts";
import { type ClaimedTurn, goesOn, logIdOf } from "../state/claimed-turn.ts";
import { plainEnd } from "../state/end-together.ts";
import type { TurnOutcome } from "../state/turn-end.ts";
import { logStates } from "../state/turn-log.ts";
import { finishTurn } from "./finish.ts";
import { finishTogether } from "./finish-together.ts";

/**
 * Commits the outcome of a claim. It is tried again while the database is away, because a
 * short outage is not an error; a commit whose result was lost with the connection is
 * found in the row. `checkpoints` says whether the turn has any. Returns false when the claim is gone. Throws when the database is
 * away longer than `turnPatienceMs`.
 */
export async function commitOutcome(
  sql: Sql,
  turn: ClaimedTurn,
  outcome: TurnOutcome,
  checkpoints: boolean,
): Promise<boolean> {
  const fence = { turnId: turn.id, attempt: turn.attempt, statuses: ["running" as const], claim: turn, checkpoints };
  const plain = plainEnd(turn, outcome, checkpoints);
  let unsure = false;
  const attempt = async () => {
    const ended = await (plain === null ? finishTurn(sql, fence, outcome) : finishTogether(sql, plain));
    if (ended) return true;
    return unsure && (await wasCommitted(sql, turn, outcome));
  };
  const retryIf = (error: unknown) => {
    unsure = true;
    return isUnavailable(error);
  };
  return retry(attempt, { limitMs: turnPatienceMs, pauseMsMin: 50, pauseMsMax: 2_000, retryIf });
}

/** Returns whether this claim's log has the end of this outcome: then an earlier attempt was committed. */
async function wasCommitted(sql: Sql, turn: ClaimedTurn, outcome: TurnOutcome): Promise<boolean> {
  const [log] = await logStates(sql, [logIdOf(turn)]);
  const sameEnd = JSON.stringify(log?.lastChunk) === JSON.stringify(outcome.lastChunk);
  const isOurs = log?.attempt === turn.attempt || (goesOn(turn) && log?.attempt === turn.logAttempt);
  return isOurs && log?.relayEvents === outcome.relayEvents && sameEnd;
}
