import { resolveLanguageModel } from "ai/internal";
import { CallMeter } from "./call-meter.ts";
import type { ModelCallRequest } from "./model-call-request.ts";
import { openCall } from "./open-call.ts";
import { readAnswer } from "./read-answer.ts";
import type { AnswerPart, ModelCallEnd } from "./step-record.ts";

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
  const meter = new CallMeter(request.meter.onCall);
  const call = await openCall(model, request, meter);
  try {
    yield* readAnswer(model, request, call, meter);
  } finally {
    meter.close();
  }
}
