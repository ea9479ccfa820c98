import {
  APICallError,
  DefaultGeneratedFile,
  InvalidResponseDataError,
  type LanguageModel,
  type ModelMessage,
  type streamText,
  type ToolSet,
} from "ai";
import { parseToolCall, prepareRetries, prepareTools, resolveLanguageModel } from "ai/internal";
import { newId } from "../kernel/ids.ts";
import { isUnchecked } from "../kernel/json-schema.ts";
import { unusableCall } from "../tools/error.ts";
import { CallMeter, type ModelMeter } from "./call-meter.ts";
import { haveFiles, withTakenFiles } from "./files-taken.ts";
import { languagePrompt } from "./language-prompt.ts";
import { formatSettings, type ResponseFormat } from "./response-format.ts";
import type { ModelSpans } from "./spans.ts";
import type { AnswerPart, ModelCallEnd } from "./step-record.ts";
import type { ThinkingSettings } from "./thinking.ts";
import type { TurnFiles } from "./turn-files.ts";

type Model = ReturnType<typeof resolveLanguageModel>;
type ModelPart = Awaited<ReturnType<Model["doStream"]>>["stream"] extends ReadableStream<infer P> ? P : never;
type ToolCallPart = Extract<AnswerPart, { type: "tool-call" }>;

/**
 * Fetches files given as URLs: those of messages, for providers that do not accept URLs,
 * and those that a model made.
 */
export type DownloadFiles = NonNullable<Parameters<typeof streamText>[0]["experimental_download"]>;

/** Which tools the model may call, or has to call first; a choice of one tool names it. */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

/** The input of one model call. */
export interface ModelCallRequest {
  readonly model: LanguageModel;
  readonly instructions: string;
  readonly messages: ModelMessage[];
  readonly tools: ToolSet;
  readonly thinking: ThinkingSettings;
  readonly download: DownloadFiles;
  readonly signal: AbortSignal;
  readonly spans: ModelSpans;
  readonly meter: ModelMeter;
  readonly files: TurnFiles;
  /** What the final text has to fit; null: any text is an answer. */
  readonly format: ResponseFormat | null;
  /** `auto` where it is not given. */
  readonly toolChoice?: ToolChoice;
  /** How often a request that failed before its response began is sent again; `providerRetriesMax` where it is not given. */
  readonly retriesMax?: number;
}

/** A request to the provider that failed before its response began is tried once more. */
const providerRetriesMax = 1;

/**
 * Calls a model and yields the parts of its answer, and last how the model call ended.
 * The AI SDK makes the prompt and the tools' schemas and parses tool calls; the parts
 * come directly from the provider's client, because each stream that `streamText` pipes
 * them through costs as much as all other work on them.
 *
 * Throws what the provider's client throws before its response begins or when its stream
 * breaks. An abort ends the generator at once, without an error. However it ends, what
 * was used is told to the meter; whether the call may be made, the caller asks.
 */
export async function* callModel(
  request: ModelCallRequest,
): AsyncGenerator<AnswerPart | ModelCallEnd, void, undefined> {
  const model = resolveLanguageModel(request.model);
  const { signal } = request;
  const { retry } = prepareRetries({ maxRetries: request.retriesMax ?? providerRetriesMax, abortSignal: signal });
  const meter = new CallMeter(request.meter.onCall);
  const start = async () => retry(() => startCall(model, request, meter));
  const stream = await start().catch((error: unknown) => {
    if (!mayTakeWithoutFiles(model, request, error)) throw error;
    request.files.refusedBy.add(model);
    return start();
  });
  try {
    yield* readAnswer(model, request, stream, meter);
  } finally {
    meter.close();
  }
}

/** Statuses with which providers refuse files: a model without eyes, a type that it does not know, a prompt that is too large. */
const refusals: readonly (number | undefined)[] = [400, 404, 413, 415, 422];

/** Returns whether a provider may take the prompt without the pictures and sounds of tools, so that a result of a tool never makes a session unusable. */
function mayTakeWithoutFiles(model: Model, { messages, files, signal }: ModelCallRequest, error: unknown): boolean {
  if (signal.aborted || files.refusedBy.has(model) || !haveFiles(withTakenFiles(messages, model, false))) return false;
  return APICallError.isInstance(error) && refusals.includes(error.statusCode);
}

/** Yields the parts of an answer, and its end. */
async function* readAnswer(
  model: Model,
  request: ModelCallRequest,
  stream: ReadableStream<ModelPart>,
  meter: CallMeter,
): AsyncGenerator<AnswerPart | ModelCallEnd, void, undefined> {
  const { signal, spans } = request;
  const response = { id: "", modelId: model.modelId };
  const calls = new Map<string, ToolCallPart>();
  /** Tool calls whose input came in pieces. */
  const written = new Set<string>();
  let started = false;
  for await (const part of readParts(stream, signal)) {
    if (part.type === "stream-start" || part.type === "raw") continue;
    if (!started) yield { type: "start-step", request: {}, warnings: [] };
    started = true;
    spans.came(part);
    switch (part.type) {
      case "text-delta":
      case "reasoning-delta": {
        const { delta: text, ...rest } = part;
        meter.came(text);
        if (text !== "" || part.providerMetadata !== undefined) yield { ...rest, text };
        break;
      }
      case "finish": {
        if (isBrokenOff(part))
          throw new InvalidResponseDataError({ data: null, message: "No end of the answer came." });
        // The gateway's client hands on whatever the server sends, so the usage may be missing.
        const usage = meter.end({
          inputTokens: part.usage?.inputTokens?.total,
          outputTokens: part.usage?.outputTokens?.total,
        });
        const finishReason = part.finishReason.unified;
        spans.end({ responseId: response.id, modelId: response.modelId, finishReason, usage });
        yield { type: "call-end", finishReason };
        break;
      }
      case "response-metadata":
        response.id = part.id ?? response.id;
        response.modelId = part.modelId ?? response.modelId;
        break;
      case "tool-call": {
        // Its input came in pieces before, but from a few providers.
        if (!written.has(part.toolCallId)) meter.came(part.input || "{}");
        const call = await readCall(part, request);
        calls.set(call.toolCallId, call);
        yield call;
        break;
      }
      case "tool-input-delta":
        written.add(part.id);
        meter.came(part.delta);
        yield part as AnswerPart;
        break;
      default:
        yield await rarePart(part, request, calls);
    }
  }
}

/**
 * Whether a stream has ended without the protocol's own end, as one of another media type
 * does too: the vendors' clients then report an interruption, or the reason with which they began.
 */
function isBrokenOff({ finishReason }: Extract<ModelPart, { type: "finish" }>): boolean {
  return finishReason.raw === undefined && ["other", "interrupted"].includes(finishReason.unified);
}

async function startCall(
  model: Model,
  request: ModelCallRequest,
  meter: CallMeter,
): Promise<ReadableStream<ModelPart>> {
  const { instructions, tools, thinking, download, signal, spans, format, files } = request;
  const messages = withTakenFiles(request.messages, model, files.refusedBy.has(model));
  const prompt = await languagePrompt({
    instructions,
    messages,
    supportedUrls: await model.supportedUrls,
    download,
    abortSignal: signal,
    provider: model.provider.split(".", 1)[0] as string,
  });
  const offered = await prepareTools({ tools });
  spans.start(model, prompt);
  const settings = settingsOf(thinking, format);
  meter.begin({ prompt, tools: offered, format: settings.responseFormat });
  try {
    const { stream } = await model.doStream({
      prompt,
      abortSignal: signal,
      toolChoice: choiceFor(request.toolChoice ?? "auto"),
      ...(offered === undefined ? {} : { tools: offered }),
      ...settings,
    });
    return stream;
  } catch (error) {
    meter.fail(error);
    throw error;
  }
}

function choiceFor(choice: ToolChoice) {
  return typeof choice === "string" ? { type: choice } : ({ type: "tool", toolName: choice.tool } as const);
}

/** Returns the settings of a call that are not its prompt. */
function settingsOf(
  thinking: ThinkingSettings,
  format: ResponseFormat | null,
): ThinkingSettings & Partial<Pick<ReturnType<typeof formatSettings>, "responseFormat">> {
  if (format === null) return thinking;
  const { responseFormat, providerOptions } = formatSettings(format);
  const named = { ...thinking.providerOptions } as Record<string, object>;
  for (const [provider, options] of Object.entries(providerOptions))
    named[provider] = { ...named[provider], ...options };
  return { ...thinking, responseFormat, providerOptions: named as NonNullable<ThinkingSettings["providerOptions"]> };
}

/** Yields the items of a stream until its end or an abort; an abort does not wait for the provider. */
async function* readParts<T>(stream: ReadableStream<T>, signal: AbortSignal): AsyncGenerator<T, void, undefined> {
  const reader = stream.getReader();
  const cancel = () => void reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
  try {
    while (!signal.aborted) {
      const { done, value } = await reader.read();
      if (done || signal.aborted) return;
      yield value;
    }
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}

/**
 * Returns a tool call with its input parsed. One that names no known tool, or whose input
 * does not fit the tool, is `invalid` and has an `error`. Throws for one whose check takes too long.
 */
async function readCall(
  toolCall: Extract<ModelPart, { type: "tool-call" }>,
  { tools, messages, instructions }: ModelCallRequest,
): Promise<ToolCallPart> {
  const call = await parseToolCall({ toolCall, tools, messages, instructions, repairToolCall: undefined });
  // The model is not told, or it would make the call again, and the check take as long again.
  if (call.invalid === true && isUnchecked(call.error)) throw call.error;
  return call.invalid === true ? { ...call, error: unusableCall(call.error) } : call;
}

/**
 * Returns the answer's part for one of the provider's less frequent parts; a part that
 * needs no conversion is returned as it is.
 */
async function rarePart(
  part: ModelPart,
  { tools, download, signal }: ModelCallRequest,
  calls: ReadonlyMap<string, ToolCallPart>,
): Promise<AnswerPart> {
  switch (part.type) {
    case "tool-input-start": {
      const tool = tools[part.toolName];
      const about = {
        dynamic: part.dynamic ?? tool?.type === "dynamic",
        title: tool?.title,
        toolMetadata: tool?.metadata,
      };
      return { ...part, ...about } as AnswerPart;
    }
    case "tool-result": {
      const { result, isError, ...rest } = part;
      const about = { ...rest, input: calls.get(part.toolCallId)?.input, providerExecuted: true };
      const output = isError === true ? { type: "tool-error", error: result } : { output: result };
      return { ...about, ...output } as AnswerPart;
    }
    case "tool-approval-request": {
      const toolCall = calls.get(part.toolCallId);
      if (toolCall === undefined) throw new Error("The provider asks for the approval of a call that it did not make.");
      return { type: part.type, approvalId: newId("approval"), toolCall };
    }
    case "file":
    case "reasoning-file": {
      const data = part.data.type === "data" ? part.data.data : await downloaded(part.data.url, download, signal);
      return { ...part, file: new DefaultGeneratedFile({ data, mediaType: part.mediaType }) } as AnswerPart;
    }
    default:
      return part as AnswerPart;
  }
}

async function downloaded(url: URL, download: DownloadFiles, abortSignal: AbortSignal): Promise<Uint8Array> {
  const [file] = await download([{ url, isUrlSupportedByModel: false, abortSignal }]);
  if (file == null) throw new Error("A file that the model made cannot be fetched.");
  return file.data;
}
