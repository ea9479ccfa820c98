import { resolveLanguageModel } from "ai/internal";
import { CallMeter } from "./call-meter.ts";
import type { ModelCallRequest } from "./model-call-request.ts";
import { openCall } from "./open-call.ts";
import { PartPace } from "./part-pace.ts";
import { AnswerReader } from "./read-answer.ts";
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
 *
 * One generator, because each that a part passes through takes some promises, as does `yield*` of a list.
 */
export async function* callModel(
  request: ModelCallRequest,
): AsyncGenerator<AnswerPart | ModelCallEnd, void, undefined> {
  const { signal, spans } = request;
  const model = resolveLanguageModel(request.model);
  const meter = new CallMeter(request.meter.onCall);
  const { stream, said, headers } = await openCall(model, request, meter);
  const answer = new AnswerReader(model, request, said.nameOfThoughts, meter);
  const pace = new PartPace();
  const reader = stream.getReader();
  const cancel = () => void reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
  let started = false;
  try {
    while (!signal.aborted) {
      const { done, value } = await reader.read();
      if (done || signal.aborted) return;
      const part = said.read(value);
      const pause = pace.part(part.type === "tool-call" || part.type === "tool-result");
      if (pause !== null) await pause;
      if (answer.isOver || part.type === "stream-start" || part.type === "raw") continue;
      if (!started) yield { type: "start-step", request: {}, warnings: [] };
      started = true;
      spans.came(part);
      if (part.type === "error") request.onCallFailed({ error: part.error, headers: headers ?? {} });
      const read = answer.read(part);
      for (const told of read instanceof Promise ? await read : read) yield told;
    }
  } catch (error) {
    if (!signal.aborted) request.onCallFailed({ error, headers: headers ?? {} });
    throw error;
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
    meter.close();
  }
}
