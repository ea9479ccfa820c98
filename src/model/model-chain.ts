import { type LanguageModel, type ModelMessage, NoOutputGeneratedError, RetryError } from "ai";
import type { ModelSettings } from "../providers/model-settings.ts";
import { ToolError } from "../tools/error.ts";
import { promptBytes } from "./call-meter.ts";
import { failsBeforeSending, findCallError } from "./describe-error.ts";
import { EndedWrongError } from "./ended-wrong.ts";
import { callModel } from "./model-call.ts";
import type { ModelCallRequest } from "./model-call-request.ts";
import type { AnswerPart, ModelCallEnd, ModelCallVoid } from "./step-record.ts";
import type { ThinkingSettings } from "./thinking.ts";
import { estimatedTokens } from "./token-counts.ts";
import { withoutItem, withoutItems } from "./vendor-items.ts";

/** What one model of a chain is called with. */
export interface ChainedModel {
  readonly model: LanguageModel;
  readonly thinking: ThinkingSettings;
  readonly settings: ModelSettings;
  /** What the messages may take of its window, in tokens; null where they fit already. */
  readonly roomTokens: number | null;
  /** Whether it is of another account than the first model. */
  readonly isForeign: boolean;
}

/**
 * Opens a model, which is then called, because of that failure of the one before it (null in
 * a step where none has failed yet); null when it cannot be called.
 */
export type OpenModel = (failure: unknown) => Promise<ChainedModel | null>;

/**
 * The models of an answer in the order in which they are tried. A call that fails before it
 * gave text, reasoning or a tool call is made by the next one, within the same step, and so is one
 * that ended wrong after thoughts alone; the one that answered is called first in the next step, so that a provider that is down is waited
 * for once. Each model is called once a step: where there is another one, nothing is gained
 * by waiting for the same.
 */
export class ModelChain {
  readonly #models: readonly OpenModel[];
  #current = 0;

  /** The first is the one that `call` is asked to call; none where there is no other. */
  constructor(models: readonly OpenModel[]) {
    this.#models = models;
  }

  /** Does what `callModel` does, by the first model that gives something; throws the failure of the last one tried. */
  call(request: ModelCallRequest): AsyncGenerator<CallPart, void, undefined> {
    return this.#models.length === 0 ? callModel(request) : this.#callFirst(request);
  }

  async *#callFirst(request: ModelCallRequest): AsyncGenerator<CallPart, void, undefined> {
    const count = this.#models.length;
    let failure: unknown = null;
    let isBegun = false;
    for (let tried = 0; tried < count; tried++) {
      const at = (this.#current + tried) % count;
      const asked = await this.#requestOf(at, request, failure);
      if (asked === null) continue;
      if (failure !== null) await request.meter.beforeCall();
      const ended: CallEnd = yield* this.#try(at, { ...asked, isBegun });
      if (ended === "over" || request.signal.aborted) return;
      failure = ended.failure;
      isBegun ||= ended.isBegun;
      request.spans.close(failure);
      if (!mayFallBack(failure)) break;
    }
    throw failure;
  }

  async #requestOf(at: number, request: ModelCallRequest, failure: unknown): Promise<AskedModel | null> {
    const opened = await (this.#models[at] as OpenModel)(failure);
    if (opened === null) return null;
    const { model, thinking, settings, roomTokens, isForeign } = opened;
    const newest = roomTokens === null ? request.messages : newestMessages(request.messages, roomTokens);
    const messages = isForeign ? withoutItems(newest) : newest;
    return { request: { ...request, model, thinking, settings, messages, retriesMax: 0 }, isForeign };
  }

  /** Makes one call. Its parts are held back until it gives something; a failure before that is returned, one after it thrown. */
  async *#try(
    at: number,
    { request, isForeign, isBegun }: AskedModel & { readonly isBegun: boolean },
  ): AsyncGenerator<CallPart, CallEnd, undefined> {
    const held: CallPart[] = [];
    const open = new OpenParts();
    let gave = false;
    try {
      for await (const said of callModel(request)) {
        const part = isForeign ? withoutItem(said) : said;
        // The step has begun with the call before.
        if (part.type === "start-step" && isBegun) continue;
        open.note(part);
        if (!gave) {
          if (part.type === "error") return { failure: part.error, isBegun };
          held.push(part);
          if (!gives(part)) continue;
          gave = true;
          this.#current = at;
          yield* held.splice(0);
        } else yield part;
      }
    } catch (failure) {
      if (!gave) return { failure, isBegun };
      if (!(failure instanceof EndedWrongError)) throw failure;
      yield* open.closed();
      yield { type: "call-void" };
      return { failure, isBegun: true };
    }
    if (gave || request.signal.aborted) return "over";
    const failure = new NoOutputGeneratedError({ message: "The model's stream ended without an answer." });
    request.onCallFailed({ error: failure, headers: {} });
    return { failure, isBegun };
  }
}

type CallPart = AnswerPart | ModelCallEnd | ModelCallVoid;

/** How a call ended: with what it gave, or with a failure; then, whether a reader has the beginning of the step. */
type CallEnd = "over" | { readonly failure: unknown; readonly isBegun: boolean };

interface AskedModel {
  readonly request: ModelCallRequest;
  readonly isForeign: boolean;
}

/** Thoughts and inputs of calls that a model has begun and not ended. */
class OpenParts {
  readonly #ends = new Map<string, AnswerPart>();

  note(part: CallPart): void {
    if (part.type === "reasoning-start")
      this.#ends.set(`reasoning:${part.id}`, { type: "reasoning-end", id: part.id } as AnswerPart);
    else if (part.type === "reasoning-end") this.#ends.delete(`reasoning:${part.id}`);
    else if (part.type === "tool-input-start") this.#ends.set(`call:${part.id}`, notMade(part));
    else if (part.type === "tool-call") this.#ends.delete(`call:${part.toolCallId}`);
  }

  /** Returns the parts that end them. */
  closed(): readonly AnswerPart[] {
    return [...this.#ends.values()];
  }
}

function notMade({ id, toolName }: { readonly id: string; readonly toolName: string }): AnswerPart {
  const error = new ToolError("This call was not made: the model ended its answer with an error.");
  const call = { type: "tool-call", toolCallId: id, toolName, input: {}, invalid: true, dynamic: true, error };
  return call as unknown as AnswerPart;
}

/** Returns whether a part is something of the answer: text, reasoning, a call, a file, or its good end. */
function gives(part: CallPart): boolean {
  switch (part.type) {
    case "text-delta":
    case "reasoning-delta":
      return part.text !== "";
    case "tool-input-start":
    case "tool-input-delta":
    case "tool-call":
    case "file":
    case "reasoning-file":
    case "call-end":
      return true;
    default:
      return false;
  }
}

/** Returns whether another model may answer where one failed like this: it was out of reach, silent or overloaded, and did not refuse what was asked. */
function mayFallBack(failure: unknown): boolean {
  const cause = RetryError.isInstance(failure) ? failure.lastError : failure;
  if (failsBeforeSending(cause)) return false;
  const statusCode = findCallError(cause)?.statusCode;
  if (statusCode === undefined) return true;
  // Below 400 its answer broke off before it gave anything.
  return statusCode < 400 || statusCode === 408 || statusCode === 429 || statusCode >= 500;
}

/** Returns the newest messages that take at most that many tokens, from a user's message on; never less than from the last one. */
function newestMessages(messages: readonly ModelMessage[], roomTokens: number): ModelMessage[] {
  const lastAsked = messages.findLastIndex(({ role }) => role === "user");
  let from = messages.length;
  for (let left = roomTokens; from > 0; from--) {
    left -= estimatedTokens(promptBytes(messages[from - 1]));
    if (left < 0) break;
  }
  while (from < lastAsked && messages[from]?.role !== "user") from++;
  return messages.slice(Math.min(from, Math.max(lastAsked, 0)));
}
