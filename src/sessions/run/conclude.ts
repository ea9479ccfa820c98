import type { Ctx } from "../../kernel/context.ts";
import { isUnavailable } from "../../kernel/database/failure.ts";
import { answerBytesMax, answerPartsMax } from "../../kernel/limits.ts";
import type { RelayWriter } from "../../kernel/relay/writer.ts";
import type { OpenEnds } from "../../messages/close-parts.ts";
import { describeModelError } from "../../model/describe-error.ts";
import type { ModelResult } from "../../model/run-model.ts";
import type { TurnEnding } from "../end/outcome.ts";
import { completedProgress, shownChunks } from "../end/progress.ts";
import {
  type Reached,
  reachedByAnswer,
  reachedByChunks,
  reachedByModel,
  reachedNothing,
  readStored,
  waits,
} from "../end/reached.ts";
import type { ClaimedTurn } from "../state/claimed-turn.ts";
import { claimKeyOf } from "../state/claimed-turn.ts";
import { requeueTurn } from "../state/turn.ts";
import { type TurnError, type TurnUsage, workerStopped } from "../state/turn-end.ts";
import type { TurnRecord } from "../state/turn-step.ts";
import type { ClaimCheckpoints } from "./checkpoints.ts";
import { BudgetSpentError, type ClaimUsage, CreditSpentError } from "./claim-usage.ts";
import type { OpenedLog } from "./open-log.ts";
import type { OutputGate } from "./output-gate.ts";
import { errorOf, type PreparedTurn } from "./prepare.ts";
import type { RunningTurn, StopReason } from "./running-turns.ts";
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

/** How a claim ends, and what it used. */
export type ClaimEnding = TurnEnding & { readonly usage: TurnUsage };

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
 * Returns how a claim ends, from what the model did and why it was stopped; null when the
 * claim is gone or the turn was handed back, so that there is nothing to write.
 */
export async function conclude(
  ctx: Ctx,
  running: RunningTurn,
  told: ToldClaim,
  ran: RanTurn,
): Promise<ClaimEnding | null> {
  if (running.stop.signal.aborted) return concludeStopped(ctx, running, told, ran);
  const { turn } = running;
  const { prepared, result, usage } = ran;
  const { ended, error } = result;
  if (ended === "finished") {
    const reached = reachedByAnswer(prepared, result, turn.sessionId !== null);
    return { why: waits(reached) ? "asks" : "finished", reached, usage };
  }
  const reached = reachedByModel(prepared, result);
  if (error instanceof CreditSpentError)
    return { why: "credit", error: errorOf("usage_credit_required"), reached, usage };
  if (error instanceof BudgetSpentError) {
    const { id: budgetId, resetsAt } = error.budget;
    const budget = { id: budgetId, resetsAt: resetsAt?.toISOString() ?? null };
    return { why: "budget", error: { ...errorOf("budget_exceeded", error.message), budget }, reached, usage };
  }
  if (error instanceof TurnLimitError)
    return { why: "limit", error: errorOf("turn_limit_reached", error.message), reached, usage };
  // The usage could not be written, or the credit not be asked.
  if (isUnavailable(error)) return { why: "failed", error: errorOf("service_unavailable"), reached, usage };
  told.steps.failsWith(error);
  const reason = describeModelError(error);
  ctx.log.warn({ requestId: turn.requestId, turnId: turn.id, reason }, "the model failed");
  return { why: "failed", error: errorOf("provider_error", reason), reached, usage };
}

/** Returns the same of a claim that was told to stop; one that was still being prepared has no model's result. */
export async function concludeStopped(
  ctx: Ctx,
  { turn, stop }: RunningTurn,
  told: ToldClaim,
  { prepared, result, usage }: StoppedTurn,
): Promise<ClaimEnding | null> {
  const all = () =>
    prepared === null || result === null ? reachedUnprepared(ctx, turn, told) : reachedByModel(prepared, result);
  const completed = () =>
    prepared === null || result === null
      ? reachedUnprepared(ctx, turn, told, "completed steps")
      : reachedByModel(prepared, completedSteps(result));
  const failed = async (error: TurnError) => ({ why: "failed", error, reached: await all(), usage }) as const;
  const canceled = async () => {
    const keep = (await readStored(ctx.sql, turn.id))?.keep ?? "nothing";
    return { why: "canceled", keep, reached: await all(), usage } as const;
  };
  switch (stop.signal.reason as StopReason) {
    case "fenced":
      return null;
    case "canceled":
      return canceled();
    case "drained": {
      const { writer, checkpoints, steps } = told;
      if (await handBack(ctx, turn, { writer, checkpoints, usage, record: steps.close() })) return null;
      if ((await readStored(ctx.sql, turn.id))?.isToStop) return canceled();
      const error = errorOf("service_unavailable", "The worker was stopped before the turn was done.");
      return { why: "drained", error, reached: await completed(), usage };
    }
    case "timed_out":
      return failed(errorOf("provider_error", "The turn ran longer than a turn may."));
    case "stood":
      return { why: "lost", error: workerStopped, reached: await completed(), usage };
    case "limit_reached":
      return {
        why: "limit",
        error: errorOf("turn_limit_reached", secondsReached(turn)),
        reached: await completed(),
        usage,
      };
    case "too_large":
      return failed(errorOf("provider_error", tooLarge(result)));
  }
}

/**
 * Returns what a claim has reached whose model was not called: by what is stored, and by what an earlier claim has
 * shown. Its readers are told the end of that.
 */
export async function reachedUnprepared(
  { sql }: Pick<Ctx, "sql">,
  { id }: ClaimedTurn,
  { progress, open }: Pick<ToldClaim, "progress" | "open">,
  upTo: "all" | "completed steps" = "all",
): Promise<Reached> {
  const stored = await readStored(sql, id);
  if (stored === null) return reachedNothing;
  const shown = progress === null ? [] : shownChunks(progress);
  open.begin(stored.extended);
  for (const chunk of shown) open.note(chunk);
  const isPart = progress !== null && upTo === "completed steps";
  return reachedByChunks(stored, isPart ? shownChunks(completedProgress(progress)) : shown);
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
  const claim = claimKeyOf(turn);
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
