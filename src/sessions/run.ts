import { type LoadedAgent, loadAgentForTurn } from "../agents/load.ts";
import type { Ctx } from "../context.ts";
import { isUnavailable, type Sql } from "../db.ts";
import { defaultMessage, type ErrorCause } from "../errors.ts";
import { answerBytesMax, turnRunMsMax } from "../limits.ts";
import { describeModelError, type ModelResult, runModel } from "../model/loop.ts";
import { languageModel, type ModelProvider, openProvider } from "../model/provider.ts";
import { thinkingSettings } from "../model/thinking.ts";
import { RelayWriter } from "../relay/writer.ts";
import type { Actor, RunningTurn, StopReason } from "./actor.ts";
import { Curtain } from "./curtain.ts";
import { imageDownload } from "./download.ts";
import { requeueTurn } from "./requeue.ts";
import type { UiMessage } from "./schema.ts";
import { previewOf } from "./transcript.ts";
import { type ClaimedTurn, finishTurn, type TurnError, type TurnOutcome, turnStates } from "./turns.ts";

/** What running turns needs of a worker process. */
export interface TurnRunner {
  readonly ctx: Ctx;
  readonly actor: Actor;
}

/** A commit that meets a database that went away is repeated for this long; then the reaper ends the turn. */
const commitTryMs = 60_000;

/** The job `turn`: runs a queued turn to its end (the turn's way through the house, design section 2). */
export async function runTurnJob(
  { ctx, actor }: TurnRunner,
  payload: { turnId: string; lockKey: string },
): Promise<void> {
  await actor.withTurn(payload.turnId, payload.lockKey, async (running) => {
    const { turn } = running;
    const log = ctx.log.child({
      turnId: turn.id,
      sessionId: turn.sessionId,
      tenantId: turn.tenantId,
      requestId: turn.requestId,
    });
    log.debug({ attempt: turn.attempt }, "turn claimed");
    const writer = new RelayWriter(
      ctx.relay,
      { turnId: turn.id, attempt: turn.attempt },
      { onSealed: () => running.stop.abort("fenced") },
    );
    const limit = setTimeout(() => running.stop.abort("timed_out"), turnRunMsMax);
    try {
      const ending = await play(ctx, running, writer);
      if (ending === "stopped") return writer.close();
      const committed = await commit(ctx.sql, turn, ending.outcome);
      if (!committed) {
        log.warn("the turn was ended by somebody else; nothing was written");
        return writer.close();
      }
      await writer.end(ending.lastChunks);
      log.info({ status: ending.outcome.status, attempt: turn.attempt }, "turn ended");
    } finally {
      clearTimeout(limit);
    }
  });
}

interface Ending {
  readonly outcome: TurnOutcome;
  /** Written once the outcome is committed: a follower sees the end only after the session is free. */
  readonly lastChunks: readonly unknown[];
}

function withHeld({ outcome, lastChunks }: Ending, held: readonly object[]): Ending {
  if (held.length === 0) return { outcome, lastChunks };
  return {
    outcome: { ...outcome, relayEvents: outcome.relayEvents + held.length },
    lastChunks: [...held, ...lastChunks],
  };
}

/** Plays the turn up to its outcome. `stopped`: the claim is gone, or the turn was handed back; nothing is left to write. */
async function play(ctx: Ctx, running: RunningTurn, writer: RelayWriter): Promise<Ending | "stopped"> {
  const { turn, stop } = running;
  const loaded = await load(ctx, turn);
  if ("code" in loaded) return failure(turn, writer, loaded, null, 0, 0);
  const curtain = new Curtain(ctx.sql, turn);
  let bytes = 0;
  try {
    const result = await runModel(
      {
        model: languageModel(ctx, loaded.provider, loaded.model),
        instructions: loaded.agent.config?.instructions ?? "",
        messages: loaded.messages,
        thinking: thinkingSettings(loaded.provider.providerType, loaded.agent.config?.thinkingLevel ?? null),
        messageId: turn.assistantMessageId,
        signal: stop.signal,
        download: imageDownload(ctx.config),
      },
      (chunk) => {
        if (stop.signal.aborted) return;
        bytes += chunkBytes(chunk);
        if (bytes > answerBytesMax) stop.abort("too_large");
        const waits = curtain.pass(chunk).map((due) => writer.write(due));
        return waits.at(-1);
      },
    );
    const ending = await conclude(ctx, running, writer, loaded, result);
    return ending === "stopped" ? ending : withHeld(ending, curtain.takeHeld());
  } finally {
    curtain.close();
  }
}

/** What a chunk adds to the answer: its longest text counts, the rest is small. */
function chunkBytes(chunk: object): number {
  let bytes = 64;
  for (const field of Object.values(chunk)) {
    if (typeof field === "string") bytes += field.length;
    else if (typeof field === "object" && field !== null) bytes += JSON.stringify(field).length;
  }
  return bytes;
}

/** Makes an outcome of what the model did and why it was stopped. */
async function conclude(
  ctx: Ctx,
  running: RunningTurn,
  writer: RelayWriter,
  loaded: LoadedTurn,
  result: ModelResult,
): Promise<Ending | "stopped"> {
  const { turn, stop } = running;
  const { inputTokens, outputTokens } = result;
  const reason = stop.signal.aborted ? (stop.signal.reason as StopReason) : null;
  if (reason === "fenced" || writer.sealed) return "stopped";
  if (reason === "drained") {
    if (writer.written === 0 && (await handBack(ctx, turn))) return "stopped";
    return failure(
      turn,
      writer,
      causeError("service_unavailable", "The worker was stopped before the turn was done."),
      loaded,
      inputTokens,
      outputTokens,
    );
  }
  if (reason === "timed_out") {
    return failure(
      turn,
      writer,
      causeError("provider_error", "The turn ran longer than a turn may."),
      loaded,
      inputTokens,
      outputTokens,
    );
  }
  if (reason === "too_large") {
    const mib = answerBytesMax / 1024 / 1024;
    return failure(
      turn,
      writer,
      causeError("provider_error", `The answer is larger than ${mib} MiB.`),
      loaded,
      inputTokens,
      outputTokens,
    );
  }
  await writer.flush();
  if (writer.sealed) return "stopped";
  if (reason === "canceled") return ended(turn, writer, "canceled", null, loaded, result, { type: "abort" });
  if (result.ended !== "finished") {
    ctx.log.warn({ turnId: turn.id, reason: describeModelError(result.error) }, "the model failed");
    return failure(
      turn,
      writer,
      causeError("provider_error", describeModelError(result.error)),
      loaded,
      inputTokens,
      outputTokens,
    );
  }
  return ended(turn, writer, "succeeded", null, loaded, result, result.lastChunk);
}

function causeError(code: ErrorCause, message?: string): TurnError {
  return { code, message: message ?? defaultMessage(code) };
}

async function failure(
  turn: ClaimedTurn,
  writer: RelayWriter,
  error: TurnError,
  loaded: LoadedTurn | null,
  inputTokens: number,
  outputTokens: number,
): Promise<Ending | "stopped"> {
  await writer.flush();
  if (writer.sealed) return "stopped";
  return ended(
    turn,
    writer,
    "failed",
    error,
    loaded,
    { inputTokens, outputTokens },
    { type: "error", errorText: error.message },
  );
}

function ended(
  turn: ClaimedTurn,
  writer: RelayWriter,
  status: TurnOutcome["status"],
  error: TurnError | null,
  loaded: LoadedTurn | null,
  result: { readonly inputTokens: number; readonly outputTokens: number; readonly message?: UiMessage },
  lastChunk: unknown,
): Ending {
  const answer = status === "succeeded" ? (result.message ?? null) : null;
  const asked = turn.input === null || Array.isArray(turn.input) ? [] : [turn.input as UiMessage];
  return {
    outcome: {
      status,
      error,
      usage: {
        provider: loaded?.provider.id ?? null,
        model: loaded?.model ?? null,
        inputTokens: result.inputTokens,
        outputTokens: result.outputTokens,
      },
      messages: answer === null || turn.sessionId === null ? [] : [...asked, answer],
      preview: answer === null ? "" : previewOf(answer),
      answer: turn.sessionId === null ? answer : null,
      relayEvents: writer.written + 1,
    },
    lastChunks: [lastChunk],
  };
}

interface LoadedTurn {
  readonly agent: LoadedAgent;
  readonly provider: ModelProvider;
  readonly model: string;
  readonly messages: readonly UiMessage[];
}

/** Reads what the turn runs on. Nothing from acceptance is trusted: the agent or its provider may be gone by now. */
async function load(ctx: Ctx, turn: ClaimedTurn): Promise<LoadedTurn | TurnError> {
  const [agent, history] = await Promise.all([
    loadAgentForTurn(ctx.sql, turn.tenantId, turn.agentId, turn.agentVersion),
    turn.sessionId === null ? [] : readTranscript(ctx.sql, turn.sessionId, turn.keepSeq),
  ]);
  if (agent?.config == null) return causeError("not_found", "The agent does not exist any more.");
  if (agent.providerMissing) return causeError("provider_not_found");
  const provider = agent.provider === null ? platformProvider(ctx) : openProvider(ctx, agent.provider);
  if (provider === null || agent.config.model === null) return causeError("provider_required");
  const asked = turn.input === null ? [] : Array.isArray(turn.input) ? turn.input : [turn.input as UiMessage];
  return { agent, provider, model: agent.config.model, messages: [...history, ...asked] };
}

function platformProvider(ctx: Ctx): ModelProvider | null {
  const platform = ctx.config.platformProvider;
  return platform === null ? null : ({ id: null, ...platform } as ModelProvider);
}

async function readTranscript(sql: Sql, sessionId: string, keepSeq: number | null): Promise<UiMessage[]> {
  const rows = await sql<{ content: UiMessage }[]>`
    select content from messages where session_id = ${sessionId} ${keepSeq === null ? sql`` : sql`and seq <= ${keepSeq}`} order by seq`;
  return rows.map((row) => row.content);
}

/** Puts a turn that has shown nothing back into the queue, its log sealed, for another worker. */
async function handBack(ctx: Ctx, turn: ClaimedTurn): Promise<boolean> {
  const sealed = await ctx.relay.seal({ turnId: turn.id, attempt: turn.attempt }).catch(() => "empty" as const);
  return sealed === "empty" && requeueTurn(ctx.sql, turn.id, turn.attempt);
}

/**
 * Commits the outcome. A database that went away is asked again, because a blip
 * that heals is not an error; an answer that got lost is found in the row.
 */
async function commit(sql: Sql, turn: ClaimedTurn, outcome: TurnOutcome): Promise<boolean> {
  const fence = { turnId: turn.id, attempt: turn.attempt, statuses: ["running" as const] };
  const expiresAt = Date.now() + commitTryMs;
  let unsure = false;
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
    try {
      if (await finishTurn(sql, fence, outcome)) return true;
      if (!unsure) return false;
      const [state] = await turnStates(sql, [turn.id]);
      return (
        state?.attempt === turn.attempt && state.status === outcome.status && state.relayEvents === outcome.relayEvents
      );
    } catch (error) {
      if (!isUnavailable(error) || Date.now() + pauseMs > expiresAt) throw error;
      unsure = true;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}
