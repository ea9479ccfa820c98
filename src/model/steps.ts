import { generateId, NoOutputGeneratedError } from "ai";
import { toResponseMessages } from "ai/internal";
import { toolCallsPerStepMax } from "../kernel/limits.ts";
import { isClientTool } from "../tools/client-tool.ts";
import type { ModelCallRequest, ToolChoice } from "./model-call-request.ts";
import type { ModelChain } from "./model-chain.ts";
import { AnswerMisfitError, askAgain, finalText } from "./response-format.ts";
import { type AnswerPart, StepRecord } from "./step-record.ts";
import { type ApprovalOf, areDecided, classifyCall, refuseCall, resolveDecidedCalls, runCalls } from "./tool-calls.ts";
import { readerParts } from "./turn-files.ts";

/**
 * The input of `answerSteps`. The last of `messages` is the user's, or has the decisions
 * on the tool calls that waited.
 */
export interface StepsRequest extends ModelCallRequest {
  readonly approvalOf: ApprovalOf;
  readonly modelCallsMax: number;
  /** Ids of texts and thoughts that the answer has already. */
  readonly takenIds: readonly string[];
  /** Called, and waited for, when all parts of a step were yielded and the model is called again. */
  readonly afterStep: () => Promise<void>;
  /** The model that the request names, and those that are called where it fails. */
  readonly chain: ModelChain;
  /** The last text of the answer that is continued. */
  readonly lastText: string | null;
}

/**
 * Yields the parts of an answer: calls the model, runs the tools that it calls, and calls
 * the model again with their results, until it calls none, a tool call waits for a
 * person or for the caller, or `modelCallsMax` is reached. These are the parts of the AI SDK's
 * `streamText`, in the same order, at half of its cost. An answer whose final text does not
 * fit the `format` is asked for once more.
 *
 * Throws what `callModel` and the meter throw; a failure that the provider reports in its stream is a
 * part `error`. After an abort it ends without a further part.
 */
export async function* answerSteps(request: StepsRequest): AsyncGenerator<AnswerPart, void, undefined> {
  const { tools, signal, modelCallsMax, meter, format, takenIds, afterStep } = request;
  if (signal.aborted) return;
  const messages = [...request.messages];
  const hasDecided = areDecided(messages);
  await (hasDecided ? meter.beforeDecided?.() : meter.beforeCall());
  const { answered, waits } = yield* resolveDecidedCalls({ ...request, messages });
  if (waits) {
    yield mark("finish", { finishReason: "tool-calls" });
    return;
  }
  if (answered !== null && !signal.aborted) {
    messages.push(answered);
    await afterStep();
  }
  const ids = { text: new UniqueIds(takenIds), reasoning: new UniqueIds(takenIds) };
  let { lastText } = request;
  let askedAgain = false;
  let toldCut = false;
  for (let step = 1; !signal.aborted; step++) {
    // Meanwhile tools have run.
    if (step > 1 || hasDecided) await meter.beforeCall();
    const record = new StepRecord();
    yield* oneStep({ ...request, messages, toolChoice: choiceOfStep(request, step) }, record, ids);
    if (signal.aborted) return;
    yield mark("finish-step", {});
    lastText = finalText(record.content) ?? lastText;
    // A model whose call was cut off is told so once: it may well be cut off again.
    const goesOn = record.continues && step < modelCallsMax && !(record.isCut && toldCut);
    toldCut ||= record.isCut;
    const again =
      goesOn || format === null || record.failed || record.awaits ? null : await askAgain(format, lastText, signal);
    if (!goesOn && again === null) {
      yield mark("finish", { finishReason: record.finishReason });
      return;
    }
    if (again !== null && (askedAgain || step >= modelCallsMax))
      throw new AnswerMisfitError("The model's answer does not fit the schema that was asked for.");
    askedAgain ||= again !== null;
    const { content } = again === null ? record : record.withoutOpenCalls();
    messages.push(...(await toResponseMessages({ content, tools })), ...(again === null ? [] : [again]));
    // What asks again is no part of the answer, so a turn cannot go on from there.
    if (again === null) await afterStep();
  }
}

/** Returns the tool choice of a step: to be made to call a tool holds for the first one, or it would never end. */
function choiceOfStep({ toolChoice = "auto" }: StepsRequest, step: number): ToolChoice {
  return step === 1 || toolChoice === "none" ? toolChoice : "auto";
}

/** Yields the parts of one model call and of the tools that it called. */
async function* oneStep(
  request: StepsRequest,
  record: StepRecord,
  ids: { readonly text: UniqueIds; readonly reasoning: UniqueIds },
): AsyncGenerator<AnswerPart, void, undefined> {
  ids.text.nextCall();
  ids.reasoning.nextCall();
  for await (const received of request.chain.call(request)) {
    if (received.type === "call-end") {
      record.end(received);
      continue;
    }
    if (received.type === "call-void") {
      record.clear();
      continue;
    }
    const part = withUniqueId(received, ids);
    record.add(part);
    yield part;
    if (part.type !== "tool-call") continue;
    const isBeyond = part.providerExecuted !== true && record.calledTools > toolCallsPerStepMax;
    const { runs, failure, told } = (isBeyond ? refuseCall : classifyCall)(part, request);
    if (runs) record.addCall(part);
    // No part for the reader: the part of the call already has the error.
    if (failure !== null) record.add(failure);
    yield* recorded(record, told);
  }
  if (request.signal.aborted) return;
  if (record.isEmpty) throw noAnswer(request);
  const calls = record.takeCalls();
  // Whatever the vendor calls the reason of the end: the input of these is whole.
  const ours = calls.filter(({ toolName }) => !isClientTool(request.tools, toolName));
  if (!record.failed) yield* recorded(record, runCalls(ours, request));
}

function noAnswer({ onCallFailed }: StepsRequest): Error {
  const error = new NoOutputGeneratedError({ message: "The model's stream ended without an answer." });
  onCallFailed({ error, headers: {} });
  return error;
}

/** Yields parts and adds them to the record. */
async function* recorded(
  record: StepRecord,
  parts: Iterable<AnswerPart> | AsyncIterable<AnswerPart>,
): AsyncGenerator<AnswerPart, void, undefined> {
  for await (const part of parts) {
    record.add(part);
    yield* readerParts(part);
  }
}

/** Returns a part with only the fields that its chunk is made of. */
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

/** Makes the ids of texts unique within the answer; providers make them unique within one model call. */
class UniqueIds {
  readonly #taken: Set<string>;
  #renamed = new Map<string, string>();

  /** `taken` are ids that the answer has already. */
  constructor(taken: readonly string[]) {
    this.#taken = new Set(taken);
  }

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
