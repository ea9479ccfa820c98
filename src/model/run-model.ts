import { type LanguageModel, RetryError, type ToolSet, toUIMessageChunk, type UIMessageChunk } from "ai";
import { inSpan, recordsContent, type SpanFields } from "../kernel/telemetry/trace.ts";
import { noteDoing } from "../kernel/telemetry/work.ts";
import { cleanText, storable } from "../messages/text.ts";
import { resultChunks } from "../messages/to-chunks.ts";
import { isStreamOnly, progressChunk } from "../messages/tool-progress.ts";
import type { UiMessage } from "../messages/ui-message.ts";
import type { ModelSettings } from "../providers/model-settings.ts";
import { ToolError, toToolError } from "../tools/error.ts";
import type { ApprovalPolicy } from "../tools/policy.ts";
import { decideCall } from "../tools/policy.ts";
import type { TurnTool } from "../tools/tool.ts";
import { Assembly } from "./assembly.ts";
import type { ModelMeter } from "./call-meter.ts";
import { CallValues } from "./call-values.ts";
import { PartCleaner } from "./clean.ts";
import { deniedByPolicy } from "./denied-calls.ts";
import { describeModelError } from "./describe-error.ts";
import type { DownloadFiles, ToolChoice } from "./model-call-request.ts";
import { ModelChain, type OpenModel } from "./model-chain.ts";
import { modelMessages } from "./prompt.ts";
import type { PromptCache } from "./prompt-cache.ts";
import { finalText, type ResponseFormat } from "./response-format.ts";
import type { UnofferedTool } from "./sending/fit-tools.ts";
import { Refusals } from "./sending/refusals.ts";
import { inputContent, resultContent } from "./span-content.ts";
import { ModelSpans } from "./spans.ts";
import type { AnswerPart } from "./step-record.ts";
import { answerSteps } from "./steps.ts";
import type { ThinkingSettings } from "./thinking.ts";
import { TurnFiles } from "./turn-files.ts";
import type { FailedCall } from "./vendor-failure.ts";

// Otherwise the SDK writes its warnings to the console instead of the log.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

/** The input of `runModel`. */
export interface ModelRequest {
  readonly model: LanguageModel;
  readonly instructions: string;
  /** The transcript with the user's message at its end. */
  readonly messages: readonly UiMessage[];
  readonly thinking: ThinkingSettings;
  /** None: the vendor's defaults. */
  readonly settings?: ModelSettings;
  /** Null, or not given: nothing is done for the caches of vendors. */
  readonly cache?: PromptCache | null;
  /** `model` and those that are called where it fails before it gave anything, in this order; none where there is no other. */
  readonly chain: readonly OpenModel[];
  /** The id of the answer. */
  readonly messageId: string;
  readonly signal: AbortSignal;
  readonly download: DownloadFiles;
  /** The answer that a turn continues when it resumes after approvals; null for a new answer. */
  readonly extended: UiMessage | null;
  /** What the answer holds already beyond that, where a turn goes on after a completed step; null at its beginning. */
  readonly reached: ReachedAnswer | null;
  readonly tools: readonly TurnTool[];
  readonly policy: ApprovalPolicy;
  /** Whether a person can approve tool calls; if not, calls that need an approval are denied. */
  readonly canAsk: boolean;
  readonly modelCallsMax: number;
  readonly meter: ModelMeter;
  /** What the final text has to fit; null: any text is an answer. */
  readonly format: ResponseFormat | null;
  /** `auto` where it is not given. */
  readonly toolChoice?: ToolChoice;
  /** Told of each call of a model that failed. */
  readonly onCallFailed?: (failed: FailedCall) => void;
  /** Told of each tool that a vendor was not offered. */
  readonly onToolLeftOut?: (tool: UnofferedTool) => void;
  /** Called, and waited for, before a tool runs. */
  readonly beforeTool: (toolCallId: string) => Promise<void>;
  /** Called, and waited for, when a step is complete and the model is called again, with the chunks since the last such step. */
  readonly afterStep: (chunks: readonly UIMessageChunk[]) => Promise<void>;
}

/** An answer that another worker has begun. Its chunks were shown already. */
export interface ReachedAnswer {
  /** Of its completed steps. */
  readonly saved: readonly UIMessageChunk[];
  /** Of the step that broke off, closed. */
  readonly unsaved: readonly UIMessageChunk[];
}

/** The result of `runModel`. */
export interface ModelResult {
  readonly ended: "finished" | "failed" | "aborted";
  /** The answer, assembled by the AI SDK from the same chunks that were written. */
  readonly message: UiMessage;
  /** The chunk that ends the stream. It is not passed to `write`: the caller writes it after the turn is committed. */
  readonly lastChunk: unknown;
  readonly error: unknown;
}

/**
 * Runs the model and its tools, and passes every chunk but the last to `write`. When
 * `write` returns a promise it is awaited, so that a slow relay slows the model down
 * instead of filling the memory. Never throws for a failure of the model or the provider;
 * the result has the error.
 */
export async function runModel(
  request: ModelRequest,
  write: (chunk: UIMessageChunk) => void | Promise<void>,
): Promise<ModelResult> {
  let error: unknown = null;
  const answer = beginAnswer(request);
  const tools = guardedTools(request);
  const spans = new ModelSpans();
  const onError = (cause: unknown) => {
    // The model and the reader get the same message about a tool call that failed; the turn continues.
    if (cause instanceof ToolError) return cleanText(String(cause));
    error ??= cause;
    return describeModelError(cause);
  };
  const cleaner = new PartCleaner();
  let lastChunk: UIMessageChunk = { type: "finish" };
  let ended: ModelResult["ended"] = "finished";
  const pass = (chunk: UIMessageChunk) => {
    // What readers are not told any more is no part of the message either.
    if (request.signal.aborted) return;
    if (!isStreamOnly(chunk)) answer.add(chunk);
    return write(chunk);
  };
  try {
    for (const chunk of callersResults(request)) await pass(chunk);
    noteDoing("transcript");
    const parts = answerSteps({
      model: request.model,
      instructions: request.instructions,
      messages: await modelMessages(request.messages),
      tools,
      approvalOf: (toolName) => approvalOf(request, toolName),
      thinking: request.thinking,
      settings: request.settings ?? {},
      cache: request.cache ?? null,
      chain: new ModelChain(request.chain),
      download: request.download,
      signal: request.signal,
      modelCallsMax: request.modelCallsMax,
      meter: request.meter,
      files: new TurnFiles(shownOf(request)),
      values: new CallValues(shownOf(request)),
      onCallFailed: request.onCallFailed ?? (() => {}),
      refusals: new Refusals(request.onToolLeftOut ?? (() => {})),
      format: request.format,
      toolChoice: choiceOf(request),
      lastText: request.extended === null ? null : finalText(request.extended.parts),
      spans,
      takenIds: textIdsOf(request.reached),
      afterStep: () => request.afterStep(answer.take()),
    });
    for await (const received of parts) {
      noteDoing("model's answer");
      for (const chunk of toChunks(received, cleaner, { tools, onError })) {
        if (chunk.type === "error") {
          ended = "failed";
          lastChunk = chunk;
        } else if (ended === "failed") continue;
        else if (chunk.type === "finish") lastChunk = chunk;
        else {
          const full = pass(chunk);
          if (full !== undefined) await full;
        }
      }
    }
  } catch (cause) {
    ended = "failed";
    error = cause;
    lastChunk = { type: "error", errorText: describeModelError(cause) };
  }
  spans.close(RetryError.isInstance(error) ? error.lastError : error);
  if (request.signal.aborted) ended = "aborted";
  noteDoing("end of an answer");
  return { ended, message: await answer.message(), lastChunk, error };
}

/** Returns the tool choice of the first model call: an answer that another worker has begun has met it already. */
function choiceOf({ toolChoice = "auto", reached }: ModelRequest): ToolChoice {
  return reached === null || toolChoice === "none" ? toolChoice : "auto";
}

/** Returns what the caller's tools answered since the turn stopped to ask. */
function callersResults({ extended, tools, reached }: ModelRequest): UIMessageChunk[] {
  if (extended === null) return [];
  const told = new Set(reached === null ? [] : [...reached.saved, ...reached.unsaved].flatMap(settledCall));
  const results = resultChunks(
    extended,
    new Set(tools.flatMap(({ name, source }) => (source.kind === "client" ? [name] : []))),
  );
  return results.filter((chunk) => !settledCall(chunk).some((callId) => told.has(callId)));
}

/** Returns the id of the call that has its end with this chunk; none for any other chunk. */
function settledCall(chunk: UIMessageChunk): string[] {
  return chunk.type.startsWith("tool-output-") && "toolCallId" in chunk ? [chunk.toolCallId] : [];
}

function beginAnswer({ messageId, extended, reached }: ModelRequest): Assembly {
  const answer = new Assembly(messageId, extended);
  for (const chunk of reached?.saved ?? []) answer.add(chunk);
  answer.take();
  for (const chunk of reached?.unsaved ?? []) answer.add(chunk);
  return answer;
}

/** Returns what readers have of the answer: parts and chunks. */
function shownOf({ extended, reached }: ModelRequest): readonly unknown[] {
  return [...(extended?.parts ?? []), ...(reached?.saved ?? []), ...(reached?.unsaved ?? [])];
}

function textIdsOf(reached: ReachedAnswer | null): string[] {
  const chunks = reached === null ? [] : [...reached.saved, ...reached.unsaved];
  return chunks.flatMap((chunk) => (chunk.type === "text-start" || chunk.type === "reasoning-start" ? [chunk.id] : []));
}

/** Chunks that need no cleaning, because `PartCleaner` has cleaned their parts. */
const deltas = new Set(["text-delta", "reasoning-delta"]);

/** Yields the chunks of a part: none, one, or two when a text ends with half a pair that was held back. */
function* toChunks(
  received: AnswerPart,
  cleaner: PartCleaner,
  options: { readonly tools: ToolSet; readonly onError: (cause: unknown) => string },
): Generator<UIMessageChunk, void, undefined> {
  for (const part of cleaner.clean(received)) {
    if (part.type === "tool-progress") {
      yield progressChunk(part.toolCallId, part);
      continue;
    }
    // Version 6 of the AI SDK's client knows no such chunk, and gives the stream up; the denial that follows says the same.
    if (part.type === "tool-approval-response") continue;
    const chunk = toUIMessageChunk(part, { ...options, sendSources: true });
    if (chunk !== undefined) yield deltas.has(chunk.type) ? chunk : storable(chunk);
  }
}

/**
 * Returns the tools for the SDK. Each awaits `beforeTool` before it runs, and fails with
 * an error that the model may see.
 */
function guardedTools({ tools, beforeTool, signal }: ModelRequest): ToolSet {
  // Of no prototype, so that a tool may be called `__proto__`, and nothing is found that is no tool.
  const guarded: ToolSet = Object.create(null) as ToolSet;
  for (const { name, tool } of tools) {
    const { execute } = tool;
    guarded[name] =
      execute === undefined
        ? tool
        : {
            ...tool,
            execute: async (input, options) => {
              try {
                await beforeTool(options.toolCallId);
                signal.throwIfAborted();
                noteDoing("tool");
                const span = () => toolSpan(name, options.toolCallId);
                return await inSpan(`execute_tool ${name}`, span, async (open) => {
                  if (recordsContent()) open.set(inputContent(input));
                  const result = await execute(input, options);
                  if (recordsContent()) open.set(resultContent(result));
                  return result;
                });
              } catch (error) {
                throw signal.aborted ? error : toToolError(error);
              }
            },
          };
  }
  return guarded;
}

function toolSpan(name: string, callId: string): SpanFields {
  const attributes = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": name,
    "gen_ai.tool.call.id": callId,
  };
  return { kind: "internal", attributes };
}

/** Returns the policy's decision on a call as the SDK's approval status; undefined when the call may run. */
function approvalOf({ tools, policy, canAsk }: ModelRequest, toolName: string) {
  const tool = tools.find(({ name }) => name === toolName);
  if (tool === undefined) return undefined;
  const decision = decideCall(policy, tool);
  if (decision === "run") return undefined;
  if (decision === "deny") return { type: "denied", reason: deniedByPolicy } as const;
  if (canAsk) return { type: "user-approval" } as const;
  return { type: "denied", reason: "This call needs a person's approval, and nobody can be asked here." } as const;
}
