import type { Ctx } from "../../kernel/context.ts";
import { isUnavailable } from "../../kernel/database/failure.ts";
import { answerBytesMax, answerPartsMax } from "../../kernel/limits.ts";
import type { RelayWriter } from "../../kernel/relay/writer.ts";
import type { OpenEnds } from "../../messages/close-parts.ts";
import { describeModelError, type ModelResult } from "../../model/run-model.ts";
import type { ClaimedTurn } from "../state/claimed-turn.ts";
import { requeueTurn } from "../state/turn.ts";
import type { TurnError, TurnOutcome, TurnUsage } from "../state/turn-end.ts";
import type { TurnRecord } from "../state/turn-step.ts";
import type { RunningTurn, StopReason } from "./actor.ts";
import type { ClaimCheckpoints } from "./checkpoints.ts";
import { type ClaimUsage, CreditSpentError } from "./claim-usage.ts";
import { isToStop, keepOf, keptOutcome, storedKeptOutcome } from "./kept.ts";
import { lostOutcome, workerStopped } from "./lost-outcome.ts";
import type { OpenedLog } from "./open-log.ts";
import { canceledOutcome, cutShortOutcome, failedOutcome, goodOutcome, reachedMessage } from "./outcome.ts";
import type { OutputGate } from "./output-gate.ts";
import { errorOf, type PreparedTurn } from "./prepare.ts";
import { completedProgress } from "./progress.ts";
import { shownChunks } from "./shown.ts";
import type { StepLog } from "./step-log.ts";
import { completedSteps, secondsReached, TurnLimitError } from "./turn-limits.ts";

/** What a claim tells its readers and its row, and how far the turn had come before. */
export interface ToldClaim extends OpenedLog {
  readonly gate: OutputGate;
  readonly usage: ClaimUsage;
  readonly steps: StepLog;
  readonly checkpoints: ClaimCheckpoints;
  /** What the chunks that readers have leave open. */
  readonly open: OpenEnds;
}

/** A claim that was told to stop, and how far it came. */
interface StoppedTurn {
  readonly prepared: PreparedTurn | null;
  readonly result: ModelResult | null;
  readonly usage: TurnUsage;
}

/** A claim whose model was called, and what came of that. */
interface RanTurn extends StoppedTurn {
  readonly prepared: PreparedTurn;
  readonly result: ModelResult;
}

/**
 * Returns the outcome of a claim, from what the model did and why it was stopped; null when the
 * claim is gone or the turn was handed back, so that there is nothing to write.
 */
export async function conclude(
  ctx: Ctx,
  running: RunningTurn,
  told: ToldClaim,
  ran: RanTurn,
): Promise<TurnOutcome | null> {
  if (running.stop.signal.aborted) return concludeStopped(ctx, running, told, ran);
  const { turn } = running;
  const { prepared, result, usage } = ran;
  const { ended, error } = result;
  if (ended === "finished") return goodOutcome(turn, prepared, result, usage);
  if (error instanceof CreditSpentError)
    return cutShortOutcome(errorOf("usage_credit_required"), turn, prepared, result, usage);
  if (error instanceof TurnLimitError)
    return cutShortOutcome(errorOf("turn_limit_reached", error.message), turn, prepared, result, usage);
  // The usage could not be written, or the credit not be asked.
  if (isUnavailable(error)) return failedOutcome(errorOf("service_unavailable"), turn, prepared, result, usage);
  ctx.log.warn(
    { requestId: turn.requestId, turnId: turn.id, reason: describeModelError(result.error) },
    "the model failed",
  );
  return failedOutcome(errorOf("provider_error", describeModelError(result.error)), turn, prepared, result, usage);
}

/** Returns the same of a claim that was told to stop; one that was still being prepared has no model's result. */
export async function concludeStopped(
  ctx: Ctx,
  { turn, stop }: RunningTurn,
  { writer, progress, steps, checkpoints }: ToldClaim,
  { prepared, result, usage }: StoppedTurn,
): Promise<TurnOutcome | null> {
  const failed = (error: TurnError) => failedOutcome(error, turn, prepared, result, usage);
  const cutShort = (error: TurnError) => {
    if (prepared !== null && result !== null)
      return cutShortOutcome(error, turn, prepared, completedSteps(result), usage);
    if (progress === null) return failed(error);
    return lostOutcome(ctx.sql, turn.id, { progress: completedProgress(progress), usage, error });
  };
  const canceled = async () => {
    if ((await keepOf(ctx.sql, turn.id)) === "nothing")
      return canceledOutcome(ctx.sql, turn.id, turn.continuationId !== null, usage);
    if (prepared === null || result === null)
      return storedKeptOutcome(ctx.sql, turn.id, { usage, shown: progress === null ? null : shownChunks(progress) });
    return keptOutcome(turn, reachedMessage(prepared, result), usage);
  };
  switch (stop.signal.reason as StopReason) {
    case "fenced":
      return null;
    case "canceled":
      return canceled();
    case "drained": {
      if (await handBack(ctx, turn, { writer, checkpoints, usage, record: steps.close() })) return null;
      if (await isToStop(ctx.sql, turn.id)) return canceled();
      const error = errorOf("service_unavailable", "The worker was stopped before the turn was done.");
      return checkpoints.any ? cutShort(error) : failed(error);
    }
    case "timed_out":
      return failed(errorOf("provider_error", "The turn ran longer than a turn may."));
    case "stood":
      return cutShort(workerStopped);
    case "limit_reached":
      return cutShort(errorOf("turn_limit_reached", secondsReached(turn)));
    case "too_large":
      return failed(errorOf("provider_error", tooLarge(result)));
  }
}

function tooLarge(result: ModelResult | null): string {
  const isManifold = (result?.message.parts.length ?? 0) >= answerPartsMax;
  return isManifold
    ? `The answer has more than ${answerPartsMax} parts.`
    : `The answer is larger than ${answerBytesMax / 1024 / 1024} MiB.`;
}

/** What is handed back of a claim. */
interface HandedBack {
  readonly writer: RelayWriter;
  readonly checkpoints: ClaimCheckpoints;
  readonly usage: TurnUsage;
  readonly record: TurnRecord;
}

/**
 * Puts a turn back into the queue that has completed a step, or has shown nothing; the log of
 * the latter is sealed. Returns false when that is not possible.
 */
async function handBack(
  ctx: Ctx,
  turn: ClaimedTurn,
  { writer, checkpoints, usage, record }: HandedBack,
): Promise<boolean> {
  const claim = { turnId: turn.id, attempt: turn.attempt };
  if (checkpoints.any) {
    // The next claim closes what was open, for the readers that have it.
    await writer.flush();
    return requeueTurn(ctx.sql, claim, "drained", { usage, record });
  }
  if (writer.written > 0) return false;
  const sealed = await ctx.relay.seal({ logId: turn.id, attempt: turn.attempt }).catch(() => "empty" as const);
  if (sealed !== "empty") return false;
  return requeueTurn(ctx.sql, claim, "drained", { usage, record });
}
