import type { Ctx } from "../../kernel/context.ts";
import { isUnavailable } from "../../kernel/database/failure.ts";
import { retryWhileUnavailable } from "../../kernel/database/retry.ts";
import { turnPatienceMs, turnRunMsMax } from "../../kernel/limits.ts";
import { SealError } from "../../kernel/seal.ts";
import { inSpan } from "../../kernel/telemetry/trace.ts";
import { noteDoing, workFor } from "../../kernel/telemetry/work.ts";
import { OpenEnds } from "../../messages/close-parts.ts";
import { type ReachedAnswer, runModel } from "../../model/run-model.ts";
import { streamClosing } from "../end/close-stream.ts";
import { commitOutcome } from "../end/commit.ts";
import { outcomeOf } from "../end/outcome.ts";
import { shownChunks } from "../end/progress.ts";
import { readStored } from "../end/reached.ts";
import { type ClaimedTurn, claimKeyOf, goesOn } from "../state/claimed-turn.ts";
import { type TurnError, type TurnOutcome, workerLost } from "../state/turn-end.ts";
import { AnswerSize } from "./answer-size.ts";
import { ClaimCheckpoints } from "./checkpoints.ts";
import { ClaimUsage } from "./claim-usage.ts";
import { type ClaimEnding, conclude, concludeStopped, reachedUnprepared, type ToldClaim } from "./conclude.ts";
import { imageDownload } from "./download.ts";
import { chainOf } from "./fallbacks.ts";
import type { GoingOn } from "./go-on.ts";
import { ClaimMeter, claimSpan } from "./meter.ts";
import { isBeyondKnowing, openLog } from "./open-log.ts";
import { OutputGate } from "./output-gate.ts";
import { type ClaimBegin, errorOf, type PreparedTurn, prepareTurn } from "./prepare.ts";
import type { RunningTurn } from "./running-turns.ts";
import { StepLog } from "./step-log.ts";
import { limitedMeter, modelCallsLeft, watchSeconds } from "./turn-limits.ts";

/** Runs a claimed turn, or its continuation, to its end (docs/architecture.md, "A turn's way through the code"). */
export function runTurn(ctx: Ctx, running: RunningTurn): Promise<void> {
  const { id: turnId, sessionId, tenantId, requestId } = running.turn;
  const run = () =>
    inSpan(
      "turn",
      () => claimSpan(running.turn),
      (span) => runClaim(ctx, running, new ClaimMeter(running.turn, span)),
    );
  return workFor({ turnId, tenantId, requestId, ...(sessionId === null ? {} : { sessionId }) }, "turn", run);
}

async function runClaim(ctx: Ctx, running: RunningTurn, meter: ClaimMeter): Promise<void> {
  const { turn, stop } = running;
  const log = ctx.log.child({
    turnId: turn.id,
    sessionId: turn.sessionId,
    tenantId: turn.tenantId,
    requestId: turn.requestId,
  });
  log.debug({ attempt: turn.attempt }, "turn claimed");
  const steps = new StepLog(turn);
  const gate = new OutputGate(ctx.sql, claimKeyOf(turn), {
    onOpen: () => meter.noteFirstChunk(),
    firstTextAt: () => steps.firstTextAt,
    isOpen: goesOn(turn),
    isPastFirstStep: turn.stepsDone > 0,
  });
  const usage = new ClaimUsage(ctx.sql, turn, () => stop.abort("fenced"));
  const { writer, progress } = await openLog(ctx, running);
  const limit = setTimeout(() => stop.abort("timed_out"), Math.max(0, turnRunMsMax - turn.runMs));
  const unwatch = watchSeconds(running);
  const checkpoints = new ClaimCheckpoints({ running, writer, gate, usage, steps });
  const open = new OpenEnds();
  try {
    const ending = await runToEnding(ctx, running, { writer, progress, gate, usage, steps, checkpoints, open });
    // Everything shown was sent to the relay before the commit, so that only the very end can be missing after a crash. That
    // the relay has it is waited for together with the commit (`end`), a round trip less.
    if (ending !== null) await writer.sent();
    if (ending === null || writer.sealed) return;
    const held = gate.takeHeld();
    noteDoing("end of a turn");
    const record = steps.close();
    const before = writer.written + held.length;
    const logged = (end: ClaimEnding): TurnOutcome => {
      const made = outcomeOf(turn, end);
      return { ...made, record, relayEvents: before + streamClosing(open, made).length + 1 };
    };
    const committed = await commit(ctx, turn, ending, logged);
    // Before its readers are told, which takes seconds while the relay is away: the next turn of the session need not wait for that.
    running.freeSession();
    if (committed !== null) {
      // After the commit: a follower sees the end only once the session is free.
      await writer.end([...held, ...streamClosing(open, committed), committed.lastChunk]);
      meter.noteEnd(committed);
      log.info({ status: committed.status, error: committed.error?.code, attempt: turn.attempt }, "turn ended");
    } else log.warn("the turn was ended by another process; nothing was written");
  } finally {
    writer.close();
    gate.close();
    clearTimeout(limit);
    unwatch();
  }
}

/**
 * Commits the outcome, or a cancellation, if one was accepted before the commit. Returns
 * what was committed; null when the claim is gone.
 */
async function commit(
  ctx: Ctx,
  turn: ClaimedTurn,
  ending: ClaimEnding,
  logged: (end: ClaimEnding) => TurnOutcome,
): Promise<TurnOutcome | null> {
  const made = logged(ending);
  if (await commitOutcome(ctx.sql, turn, made)) return made;
  if (made.status !== "succeeded" && made.status !== "waiting") return null;
  const stored = await readStored(ctx.sql, turn.id);
  if (stored === null) return null;
  const reached = { ...ending.reached, before: stored.before };
  const canceled = logged({ ...ending, why: "canceled", keep: stored.keep, reached });
  return (await commitOutcome(ctx.sql, turn, canceled)) ? canceled : null;
}

/**
 * Runs the claim and returns how it ends; null when the claim is gone or the turn was
 * handed back, so that there is nothing to write.
 */
async function runToEnding(ctx: Ctx, running: RunningTurn, told: ToldClaim): Promise<ClaimEnding | null> {
  const { turn, stop } = running;
  const { writer, progress, gate, usage, steps, checkpoints, open } = told;
  if (progress !== null && isBeyondKnowing(progress))
    return {
      why: "lost",
      error: workerLost,
      reached: await reachedUnprepared(ctx, turn, told),
      usage: await usage.close(),
    };
  const prepared = await prepare(ctx, running, { usage, signal: stop.signal, progress });
  if (prepared === "stopped")
    return concludeStopped(ctx, running, told, { prepared: null, result: null, usage: await usage.close() });
  if ("code" in prepared) {
    const why = progress === null ? "failed" : "discarded";
    return { why, error: prepared, reached: await reachedUnprepared(ctx, turn, told), usage: await usage.close() };
  }
  steps.uses(prepared.provider, prepared.model);
  steps.settle(prepared.extended);
  const shown = progress === null ? [] : shownChunks(progress);
  const size = new AnswerSize();
  open.begin(prepared.extended);
  for (const chunk of shown) {
    size.add(chunk);
    open.note(chunk);
  }
  const reached = prepared.reached === null ? null : await beginAfter(prepared.reached, told);
  const result = await runModel(
    {
      model: prepared.languageModel,
      instructions: prepared.instructions,
      messages: prepared.messages,
      extended: prepared.extended,
      reached,
      thinking: prepared.thinking,
      settings: prepared.settings,
      cache: prepared.cache,
      chain: chainOf(ctx, turn, prepared, { usage, steps }),
      messageId: turn.assistantMessageId,
      signal: stop.signal,
      download: imageDownload(ctx.config, turn.tenantId, stop.signal),
      tools: prepared.tools,
      policy: turn.kind === "task" ? prepared.config.approvalInTasks : prepared.config.approvalInChat,
      // No person follows a task's run or a stateless generation.
      canAsk: turn.kind === "session" || turn.kind === "chat",
      format: turn.responseFormat,
      toolChoice: turn.callerOptions?.toolChoice ?? "auto",
      modelCallsMax: modelCallsLeft(turn, usage),
      onToolLeftOut: (tool) => steps.leavesOut(tool),
      onCallFailed: (failed) => steps.callFailed(failed),
      meter: limitedMeter(steps.metered(usage), turn, usage),
      beforeTool: async (toolCallId) => {
        await noteBeforeTool(running, told);
        steps.beginTool(toolCallId);
      },
      afterStep: (completed) => checkpoints.afterStep(completed),
    },
    (chunk) => {
      if (stop.signal.aborted) return;
      open.note(chunk);
      size.add(chunk);
      if (size.isBeyond) stop.abort("too_large");
      steps.pass(chunk);
      return gate
        .pass(chunk)
        .map((due) => writer.write(due))
        .at(-1);
    },
  );
  return conclude(ctx, running, told, { prepared, result, usage: await usage.close() });
}

/**
 * Resolves when readers have the call of a tool and Postgres knows that tools may run: a tool runs only after both, which
 * are waited for together. The call is sent first, so that only a host or a Redis that vanishes in between leaves the note
 * without it, and then a turn counts as one whose tools may have run. While Redis is away the call waits for seconds, in which
 * another worker may take the turn: then Postgres is asked once more.
 */
async function noteBeforeTool({ stop, isSurelyOurs }: RunningTurn, { writer, gate, usage }: ToldClaim): Promise<void> {
  await writer.sent();
  const events = writer.written;
  const note = async () => {
    await usage.write();
    if (!(await gate.note(isSurelyOurs(), events))) stop.abort("fenced");
  };
  await Promise.all([writer.flush(), note()]);
  if (!isSurelyOurs()) await note();
}

/**
 * Tells readers how the step that broke off ends. One that made calls is complete with that,
 * and gets its checkpoint. Returns what the answer holds.
 */
async function beginAfter(reached: GoingOn, { writer, checkpoints, open }: ToldClaim): Promise<ReachedAnswer> {
  const { saved, unsaved, closing, isComplete } = reached;
  for (const chunk of closing) {
    open.note(chunk);
    await writer.write(chunk);
  }
  if (!isComplete) return reached;
  await checkpoints.afterStep(unsaved);
  return { saved: [...saved, ...unsaved], unsaved: [] };
}

/**
 * Prepares the claim. An error fails the turn, because another worker could not prepare it
 * either; only while the database is away it is thrown. `stopped`: the turn was told to
 * stop meanwhile, as it may be while its transcript is summarised.
 */
async function prepare(
  ctx: Ctx,
  { turn, stop }: RunningTurn,
  begin: ClaimBegin,
): Promise<PreparedTurn | TurnError | "stopped"> {
  try {
    return await retryWhileUnavailable(() => prepareTurn(ctx, turn, begin), {
      limitMs: turnPatienceMs,
      retryIf: (error) => isUnavailable(error) && !stop.signal.aborted,
    });
  } catch (error) {
    if (stop.signal.aborted) return "stopped";
    if (isUnavailable(error)) throw error;
    ctx.log.error({ turnId: turn.id, err: error }, "a turn cannot be prepared");
    if (error instanceof SealError) return errorOf("service_unavailable", error.message);
    return errorOf("internal");
  }
}
