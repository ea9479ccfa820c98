import { APICallError } from "ai";
import { prepareRetries, prepareTools, resolveLanguageModel } from "ai/internal";
import { CallMeter } from "./call-meter.ts";
import { haveFiles, withTakenFiles } from "./files-taken.ts";
import { languagePrompt } from "./language-prompt.ts";
import type { ModelCallRequest, ToolChoice } from "./model-call-request.ts";
import type { Model, ModelPart } from "./model-part.ts";
import { readAnswer } from "./read-answer.ts";
import { formatSettings, type ResponseFormat } from "./response-format.ts";
import type { AnswerPart, ModelCallEnd } from "./step-record.ts";
import type { ThinkingSettings } from "./thinking.ts";

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
