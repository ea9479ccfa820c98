import type { Ctx } from "../../kernel/context.ts";
import { isUnavailable } from "../../kernel/database/failure.ts";
import { retryWhileUnavailable } from "../../kernel/database/retry.ts";
import { turnPatienceMs } from "../../kernel/limits.ts";
import { RelayWriter } from "../../kernel/relay/writer.ts";
import { type Progress, readProgress } from "../end/progress.ts";
import { noteNewLog } from "../state/checkpoint.ts";
import { type ClaimedTurn, claimKeyOf, goesOn, logIdOf } from "../state/claimed-turn.ts";
import { logStates } from "../state/turn-log.ts";
import type { RunningTurn } from "./running-turns.ts";

/** The turn log of a claim, and how far the turn had come where an earlier one was lost. */
export interface OpenedLog {
  readonly writer: RelayWriter;
  /** Null: the turn, or its continuation, begins with this claim. */
  readonly progress: Progress | null;
}

/**
 * Opens the turn log of a claim. A turn that goes on goes on with its log. Where the relay
 * has lost that, it begins a new one with what its completed steps said, also where it can
 * only fail (`isBeyondKnowing`): readers are given what is kept. Throws when Postgres is away for too long.
 */
export async function openLog(ctx: Ctx, { turn, stop }: RunningTurn): Promise<OpenedLog> {
  const logId = logIdOf(turn);
  const onSealed = () => stop.abort("fenced");
  const begun = { logId, attempt: turn.attempt };
  if (!goesOn(turn)) return { writer: new RelayWriter(ctx.relay, begun, { onSealed }), progress: null };
  const { id, logAttempt, stepEvents, toolEvents } = turn;
  const [state] = await patiently(() => logStates(ctx.sql, [logId]));
  const log = { logId, attempt: logAttempt, claim: turn.attempt, afterLoss: state?.afterLoss ?? false };
  const progress = await patiently(() => readProgress(ctx, { id, log, stepEvents, toolEvents }));
  ctx.log.info({ turnId: id, attempt: turn.attempt, steps: turn.stepsDone }, "a turn goes on after its last step");
  if (progress.broken !== null) {
    return { writer: new RelayWriter(ctx.relay, log, { onSealed, held: progress.events }), progress };
  }
  const writer = new RelayWriter(ctx.relay, { ...begun, afterLoss: true }, { onSealed });
  if (!(await patiently(() => noteNewLog(ctx.sql, newLogOf(turn, progress))))) onSealed();
  for (const chunk of progress.saved) await writer.write(chunk);
  return { writer, progress };
}

function newLogOf(turn: ClaimedTurn, { saved }: Progress) {
  return { ...claimKeyOf(turn), continuationId: turn.continuationId, events: saved.length };
}

/** Returns whether nobody knows which calls of the step that broke off were made. */
export function isBeyondKnowing({ broken, mayHaveRun }: Progress): boolean {
  return broken === null && mayHaveRun;
}

function patiently<T>(query: () => PromiseLike<T>): Promise<T> {
  return retryWhileUnavailable(query, { limitMs: turnPatienceMs, retryIf: isUnavailable });
}
