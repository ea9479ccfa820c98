import {
  APICallError,
  DownloadError,
  InvalidPromptError,
  type LanguageModel,
  LoadAPIKeyError,
  type ModelMessage,
  NoOutputGeneratedError,
  RetryError,
  UnsupportedFunctionalityError,
} from "ai";
import { promptBytes } from "./call-meter.ts";
import { callModel, type ModelCallRequest } from "./model-call.ts";
import type { AnswerPart, ModelCallEnd } from "./step-record.ts";
import type { ThinkingSettings } from "./thinking.ts";
import { estimatedTokens } from "./token-counts.ts";
import { withoutItem, withoutItems } from "./vendor-items.ts";

/** What one model of a chain is called with. */
export interface ChainedModel {
  readonly model: LanguageModel;
  readonly thinking: ThinkingSettings;
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
 * gave text, reasoning or a tool call is made by the next one, within the same step; the one
 * that answered is called first in the next step, so that a provider that is down is waited
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
  async *call(request: ModelCallRequest): AsyncGenerator<AnswerPart | ModelCallEnd, void, undefined> {
    const count = this.#models.length;
    if (count === 0) {
      yield* callModel(request);
      return;
    }
    let failure: unknown = null;
    for (let tried = 0; tried < count; tried++) {
      const at = (this.#current + tried) % count;
      const asked = await this.#requestOf(at, request, failure);
      if (asked === null) continue;
      if (failure !== null) await request.meter.beforeCall();
      const ended = yield* this.#try(at, asked.request, asked.isForeign);
      if (ended === "over" || request.signal.aborted) return;
      failure = ended.failure;
      request.spans.close(failure);
      if (!mayFallBack(failure)) break;
    }
    throw failure;
  }

  async #requestOf(
    at: number,
    request: ModelCallRequest,
    failure: unknown,
  ): Promise<{ readonly request: ModelCallRequest; readonly isForeign: boolean } | null> {
    const opened = await (this.#models[at] as OpenModel)(failure);
    if (opened === null) return null;
    const { model, thinking, roomTokens, isForeign } = opened;
    const newest = roomTokens === null ? request.messages : newestMessages(request.messages, roomTokens);
    const messages = isForeign ? withoutItems(newest) : newest;
    return { request: { ...request, model, thinking, messages, retriesMax: 0 }, isForeign };
  }

  /** Makes one call. Its parts are held back until it gives something; a failure before that is returned, one after it thrown. */
  async *#try(
    at: number,
    request: ModelCallRequest,
    isForeign: boolean,
  ): AsyncGenerator<AnswerPart | ModelCallEnd, "over" | { readonly failure: unknown }, undefined> {
    const held: (AnswerPart | ModelCallEnd)[] = [];
    let gave = false;
    try {
      for await (const said of callModel(request)) {
        const part = isForeign ? withoutItem(said) : said;
        if (!gave) {
          if (part.type === "error") return { failure: part.error };
          held.push(part);
          if (!gives(part)) continue;
          gave = true;
          this.#current = at;
          yield* held.splice(0);
        } else yield part;
      }
    } catch (failure) {
      if (gave) throw failure;
      return { failure };
    }
    if (gave || request.signal.aborted) return "over";
    return { failure: new NoOutputGeneratedError({ message: "The model's stream ended without an answer." }) };
  }
}

/** Returns whether a part is something of the answer: text, reasoning, a call, a file, or its good end. */
function gives(part: AnswerPart | ModelCallEnd): boolean {
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

/** Failures of what is asked, which another model would not answer either. */
const failuresOfPrompt = [DownloadError, InvalidPromptError, LoadAPIKeyError, UnsupportedFunctionalityError];

/** Returns whether another model may answer where one failed like this: it was out of reach, silent or overloaded, and did not refuse what was asked. */
function mayFallBack(failure: unknown): boolean {
  const cause = RetryError.isInstance(failure) ? failure.lastError : failure;
  if (failuresOfPrompt.some((kind) => kind.isInstance(cause))) return false;
  if (!APICallError.isInstance(cause) || cause.statusCode === undefined) return true;
  const { statusCode } = cause;
  // Below 400 its answer broke off before it gave anything.
  return statusCode < 400 || statusCode === 408 || statusCode === 429 || statusCode >= 500;
}

/** Returns the newest messages that take so many tokens, from a user's message on; never less than from the last one. */
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
