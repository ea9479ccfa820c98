import { Batcher, batcherFor } from "../../kernel/async/batcher.ts";
import { retry } from "../../kernel/async/retry.ts";
import type { Sql } from "../../kernel/database/client.ts";
import { isUnavailable } from "../../kernel/database/failure.ts";
import { endGroupCharsMax, endGroupMax, endPatienceMs, groupPauseMs, turnPatienceMs } from "../../kernel/limits.ts";
import { type ClaimedTurn, claimKeyOf, goesOn, logIdOf } from "../state/claimed-turn.ts";
import type { TurnOutcome } from "../state/turn-end.ts";
import { logStates } from "../state/turn-log.ts";
import { askTurn } from "./ask.ts";
import { endPlain, endTurn, type PlainEnd } from "./end.ts";
import { plainRow } from "./end-row.ts";

/**
 * Commits the outcome of a claim. It is tried again while the database is away, because a
 * short outage is not an error; a commit whose result was lost with the connection is
 * found in the row. Returns false when the claim is gone, or when a turn whose cancellation was asked for is to succeed.
 * Throws when the database is away longer than `turnPatienceMs`.
 */
export async function commitOutcome(sql: Sql, turn: ClaimedTurn, outcome: TurnOutcome): Promise<boolean> {
  const fence = { ...claimKeyOf(turn), statuses: ["running" as const] };
  const plain = plainEnd(turn, outcome);
  const end = async () => {
    if (outcome.status === "waiting") return askTurn(sql, fence, outcome);
    // Where it did not end with others, it is found out why.
    return (plain !== null && (await plainEnds(sql).add(plain))) || endTurn(sql, fence, outcome);
  };
  let unsure = false;
  const attempt = async () => (await end()) || (unsure && (await wasCommitted(sql, turn, outcome)));
  const retryIf = (error: unknown) => {
    unsure = true;
    return isUnavailable(error);
  };
  return retry(attempt, { limitMs: turnPatienceMs, pauseMsMin: 50, pauseMsMax: 2_000, retryIf });
}

/** Returns the end of a claim where it is a plain one, else null. */
function plainEnd(claim: ClaimedTurn, outcome: TurnOutcome): PlainEnd | null {
  const { sessionId, continuationId, keepSeq, hasFallbacks } = claim;
  const isPlainClaim = sessionId !== null && continuationId === null && keepSeq === null && !hasFallbacks;
  const isWhole = outcome.status === "succeeded" && outcome.preview !== null && outcome.usage.others.length === 0;
  return isPlainClaim && isWhole
    ? { turnId: claim.id, row: plainRow({ ...claimKeyOf(claim), sessionId }, outcome) }
    : null;
}

/** Under load several plain ends share a statement: while one runs, the claims that end are collected for the next. */
const plainEnds = batcherFor(
  (sql: Sql) =>
    new Batcher<PlainEnd, boolean>((group) => endGroup(sql, group), {
      countMax: endGroupMax,
      gathers: true,
      size: { of: ({ row }) => row.length, max: endGroupCharsMax },
      patienceMs: endPatienceMs,
      pauseMs: groupPauseMs,
    }),
);

async function endGroup(sql: Sql, ends: readonly PlainEnd[]): Promise<boolean[]> {
  try {
    const ended = await endPlain(sql, ends);
    return ends.map(({ turnId }) => ended.has(turnId));
  } catch (error) {
    // A database that is away does not end a single one either; whether it ended these is found out by the next attempt.
    if (isUnavailable(error)) throw error;
    return ends.map(() => false);
  }
}

/** Returns whether this claim's log has the end of this outcome: then an earlier attempt was committed. */
async function wasCommitted(sql: Sql, turn: ClaimedTurn, outcome: TurnOutcome): Promise<boolean> {
  const [log] = await logStates(sql, [logIdOf(turn)]);
  const sameEnd = JSON.stringify(log?.lastChunk) === JSON.stringify(outcome.lastChunk);
  const isOurs = log?.attempt === turn.attempt || (goesOn(turn) && log?.attempt === turn.logAttempt);
  return isOurs && log?.relayEvents === outcome.relayEvents && sameEnd;
}
