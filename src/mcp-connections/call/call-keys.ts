import { createHash } from "node:crypto";
import type { ModelMessage, ToolCallPart } from "ai";
import { canonicalJson } from "../../kernel/http/canonical-json.ts";

/** A call as its key is made for it. */
interface KeyedCall {
  readonly toolName: string;
  readonly input: unknown;
  readonly toolCallId: string;
  /** The model's prompt when it made the call. */
  readonly messages: readonly ModelMessage[];
}

/**
 * The keys of the calls of a turn (`parley/idempotencyKey`), by which a server tells a call that is
 * made again from a new one. A call has the key of an earlier one with the same tool and input
 * while it is not known what came of that one: its answer was lost, or could not be read. Once an
 * answer was read, the same call is a new one. A turn that is run again makes the same keys.
 */
export class CallKeys {
  readonly #turnId: string;
  /** How many calls with the same tool and input each step has made here. */
  readonly #made = new Map<string, number>();
  /** Calls of which it is not known what came of them, by their place in the prompt. */
  readonly #unknown = new Set<string>();

  constructor(turnId: string) {
    this.#turnId = turnId;
  }

  /** Returns the key of a call that is about to be made. */
  keyOf({ toolName, input, messages }: KeyedCall): string {
    const identity = JSON.stringify([toolName, digestOf(canonicalJson(input ?? null))]);
    const step = JSON.stringify([identity, messages.length]);
    const before = this.#made.get(step) ?? 0;
    this.#made.set(step, before + 1);
    return digestOf(JSON.stringify([this.#turnId, identity, this.#answered(toolName, input, messages) + before]));
  }

  /** Notes that it is not known what came of a call. */
  noteUnknown({ toolCallId, messages }: KeyedCall): void {
    this.#unknown.add(placeOf(indexOf(toolCallId, messages), toolCallId));
  }

  /** How many earlier calls of this turn with the same tool and input have had an answer. */
  #answered(toolName: string, input: unknown, messages: readonly ModelMessage[]): number {
    const wanted = canonicalJson(input ?? null);
    let count = 0;
    for (let at = beginOfTurn(messages); at < messages.length; at++)
      for (const part of callsIn(messages[at])) {
        if (part.toolName !== toolName || this.#unknown.has(placeOf(at, part.toolCallId))) continue;
        if (hasResult(part.toolCallId, at, messages) && canonicalJson(part.input ?? null) === wanted) count += 1;
      }
    return count;
  }
}

function beginOfTurn(messages: readonly ModelMessage[]): number {
  return messages.findLastIndex(({ role }) => role === "user") + 1;
}

function callsIn(message: ModelMessage | undefined): readonly ToolCallPart[] {
  if (message?.role !== "assistant" || typeof message.content === "string") return [];
  return message.content.filter((part) => part.type === "tool-call");
}

/** Whether a call that the message at `at` makes has its result in those that follow. */
function hasResult(toolCallId: string, at: number, messages: readonly ModelMessage[]): boolean {
  for (let next = at + 1; next < messages.length; next++) {
    const message = messages[next];
    if (message?.role !== "tool") return false;
    if (message.content.some((part) => part.type === "tool-result" && part.toolCallId === toolCallId)) return true;
  }
  return false;
}

/** Where the message stands that makes a call: behind the prompt, or in it where the call waited for a person. */
function indexOf(toolCallId: string, messages: readonly ModelMessage[]): number {
  const makesIt = (message: ModelMessage, at: number) =>
    callsIn(message).some((part) => part.toolCallId === toolCallId) && !hasResult(toolCallId, at, messages);
  const found = messages.findLastIndex(makesIt);
  return found < beginOfTurn(messages) ? messages.length : found;
}

/** Some models name their calls anew in each step (`call_0`), so the step's place counts as well. */
function placeOf(index: number, toolCallId: string): string {
  return JSON.stringify([index, toolCallId]);
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
