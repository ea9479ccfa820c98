import { generateId, type LanguageModelUsage, NoOutputGeneratedError } from "ai";
import { toResponseMessages } from "ai/internal";
import { type CallRequest, callModel } from "./model-call.ts";
import { type AnswerPart, StepRecord } from "./step-record.ts";
import { type ApprovalOf, classifyCall, resolveDecidedCalls, runCalls } from "./tool-calls.ts";

/** What the steps of an answer run on; `messages` end with what is answered, or with the decisions on what was asked. */
export interface StepsRequest extends CallRequest {
  readonly approvalOf: ApprovalOf;
  readonly modelCallsMax: number;
  /** Told what a call of the model used as soon as it has ended, whatever becomes of its tools; null when the provider did not say. */
  readonly onCall: (usage: LanguageModelUsage | null) => void;
}

/**
 * The parts of an answer: calls the model, runs the tools it asks for, and calls
 * it again with their results, until it asks for none, a call waits for a person,
 * or `modelCallsMax` is reached. The same parts in the same order as those of the
 * AI SDK's `streamText`, at a half of its cost.
 *
 * Throws what the provider threw; a failure that it tells of is a part `error`.
 * After an abort it ends without a further part.
 */
export async function* answerSteps(request: StepsRequest): AsyncGenerator<AnswerPart, void, undefined> {
  const { tools, signal, modelCallsMax } = request;
  if (signal.aborted) return;
  const messages = [...request.messages];
  const answered = yield* resolveDecidedCalls({ ...request, messages });
  if (answered !== null) messages.push(answered);
  const ids = { text: new UniqueIds(), reasoning: new UniqueIds() };
  for (let step = 1; !signal.aborted; step++) {
    const record = new StepRecord();
    yield* oneStep({ ...request, messages }, record, ids);
    if (signal.aborted) return;
    yield mark("finish-step", {});
    if (!record.continues || step >= modelCallsMax) {
      yield mark("finish", { finishReason: record.finishReason });
      return;
    }
    messages.push(...(await toResponseMessages({ content: record.content, tools })));
  }
}

/** One call of the model and the tools it asked for. */
async function* oneStep(
  request: StepsRequest,
  record: StepRecord,
  ids: { readonly text: UniqueIds; readonly reasoning: UniqueIds },
): AsyncGenerator<AnswerPart, void, undefined> {
  ids.text.nextCall();
  ids.reasoning.nextCall();
  for await (const received of callModel(request)) {
    if (received.type === "call-end") {
      record.end(received);
      request.onCall(received.usage);
      continue;
    }
    const part = withUniqueId(received, ids);
    record.add(part);
    yield part;
    if (part.type !== "tool-call") continue;
    const { runs, failure, told } = classifyCall(part, request);
    if (runs) record.addCall(part);
    // The reader has been told with the call itself.
    if (failure !== null) record.add(failure);
    yield* recorded(record, told);
  }
  if (request.signal.aborted) return;
  if (record.isEmpty) throw new NoOutputGeneratedError({ message: "The model's stream ended without an answer." });
  if (!record.hasEnded) request.onCall(null);
  yield* recorded(record, runCalls(record.takeCalls(), request));
}

/** Passes parts on and puts them on record. */
async function* recorded(
  record: StepRecord,
  parts: Iterable<AnswerPart> | AsyncIterable<AnswerPart>,
): AsyncGenerator<AnswerPart, void, undefined> {
  for await (const part of parts) {
    record.add(part);
    yield part;
  }
}

/** A part of which only the chunk that is made of it is of interest, and that has no more than this. */
function mark<T extends "finish-step" | "finish">(type: T, fields: object): AnswerPart {
  return { type, ...fields } as AnswerPart;
}

function withUniqueId(part: AnswerPart, ids: { readonly text: UniqueIds; readonly reasoning: UniqueIds }): AnswerPart {
  switch (part.type) {
    case "text-start":
    case "text-delta":
    case "text-end":
      return ids.text.apply(part);
    case "reasoning-start":
    case "reasoning-delta":
    case "reasoning-end":
      return ids.reasoning.apply(part);
    default:
      return part;
  }
}

/** Ids of texts are unique within one call of a model, and have to be within the answer. */
class UniqueIds {
  readonly #taken = new Set<string>();
  #renamed = new Map<string, string>();

  nextCall(): void {
    this.#renamed = new Map();
  }

  apply<P extends { readonly type: string; readonly id: string }>(part: P): AnswerPart {
    if (part.type.endsWith("-start")) {
      const id = this.#taken.has(part.id) ? generateId() : part.id;
      this.#taken.add(id);
      if (id !== part.id) this.#renamed.set(part.id, id);
      else this.#renamed.delete(part.id);
    }
    const id = this.#renamed.get(part.id);
    return (id === undefined ? part : { ...part, id }) as unknown as AnswerPart;
  }
}
