import { ApiError, invalid } from "../kernel/errors.ts";
import { isId, newId } from "../kernel/ids.ts";
import { jsonValuesOf } from "../kernel/json-bounds.ts";
import { jsonValuesMax } from "../kernel/limits.ts";
import { storable } from "../messages/text.ts";
import type { CallResult } from "../messages/tool-calls.ts";
import { checkParts, type UiMessage } from "../messages/ui-message.ts";
import { approvalReasonCharactersMax, clientResultBytesMax } from "../sessions/schema.ts";
import { partsOfContent, textsIn } from "./content.ts";
import { responseOfItem } from "./response-id.ts";

/** What the input of a request says. Pointers name its places for errors. */
export interface ReadInput {
  /** The texts of the system's and the developer's messages. */
  readonly system: readonly string[];
  /** The conversation in order, messages of one role in a row as one. */
  readonly messages: readonly UiMessage[];
  /** Results of calls that the input itself does not hold. */
  readonly results: readonly { readonly pointer: string; readonly result: CallResult }[];
  readonly decisions: readonly Decided[];
}

/** A decision on an approval. */
export interface Decided {
  readonly pointer: string;
  readonly approvalId: string;
  readonly approved: boolean;
  readonly reason: string | null;
}

/** An item of the input, of which every field is checked where it is read. */
export type InputItem = Readonly<Record<string, unknown>>;

/** The input has at most this many items. */
export const inputItemsMax = 2_000;

/** Returns the items of an input; a text is a user's message. Throws 400. */
export function itemsOfInput(input: string | readonly unknown[]): InputItem[] {
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  if (input.length === 0) throw invalid("/input", "must not be empty");
  if (input.length > inputItemsMax) throw invalid("/input", `must have at most ${inputItemsMax} items`);
  return input.map((item, index) => {
    if (typeof item !== "object" || item === null || Array.isArray(item))
      throw invalid(`/input/${index}`, "must be an object");
    return item as InputItem;
  });
}

/**
 * Returns the last item that is one of ours, by its id; null when none is. What stands before it the
 * service knows already. An `item_reference` is nothing but that; any other item has its content too.
 */
export function lastKnownItem(
  items: readonly InputItem[],
): { readonly index: number; readonly itemId: string; readonly isReference: boolean } | null {
  const index = items.findLastIndex(({ id }) => typeof id === "string" && isOurs(id));
  const item = items[index];
  return item === undefined ? null : { index, itemId: String(item.id), isReference: typeOf(item) === "item_reference" };
}

/**
 * Returns the outputs of function calls that an input ends with: the ids of the calls, and the place of the first. A client
 * that sends everything again may have dropped the ids of the items.
 */
export function lastOutputs(
  items: readonly InputItem[],
): { readonly index: number; readonly callIds: string[] } | null {
  const index = items.findLastIndex((item) => typeOf(item) !== "function_call_output") + 1;
  const callIds = items.slice(index).map(({ call_id: callId }) => callId);
  return callIds.length === 0 || callIds.some((callId) => typeof callId !== "string")
    ? null
    : { index, callIds: callIds as string[] };
}

function isOurs(itemId: string): boolean {
  return responseOfItem(itemId) !== null || isId("approval", itemId);
}

/** Returns the type of an item; a message may leave it out. */
function typeOf({ type, role, id }: InputItem): unknown {
  if (type !== undefined && type !== null) return type;
  return role === undefined && id !== undefined ? "item_reference" : "message";
}

/**
 * Reads the items from number `from` on; of those before it the system's messages only. Throws 400 naming what
 * is wrong, or not supported.
 */
export function readInput(items: readonly InputItem[], from: number): ReadInput {
  const reader = new InputReader();
  for (const [index, item] of items.entries()) reader.take(item, `/input/${index}`, index < from);
  return reader.read();
}

/** Throws 413 where the inputs of the calls, which are JSON within the JSON of the body, have more values together than a body may have. */
export async function limitArguments(items: readonly InputItem[]): Promise<void> {
  const texts = items.flatMap(({ arguments: text }) => (typeof text === "string" ? [text] : []));
  // As many values as bytes at most: only long ones are worth counting.
  if (texts.reduce((sum, { length }) => sum + length, 0) <= jsonValuesMax) return;
  if ((await jsonValuesOf(texts)) > jsonValuesMax)
    throw new ApiError("payload_too_large", {
      message: `The arguments of the calls have more than ${jsonValuesMax} values together.`,
    });
}

/** Calls of the model, and what else a message of the assistant holds. */
interface AssistantDraft {
  readonly role: "assistant";
  readonly parts: Record<string, unknown>[];
}
interface UserDraft {
  readonly role: "user";
  readonly parts: object[];
}

class InputReader {
  readonly #system: string[] = [];
  readonly #drafts: (AssistantDraft | UserDraft)[] = [];
  readonly #results: ReadInput["results"][number][] = [];
  readonly #decisions: Decided[] = [];

  take(item: InputItem, pointer: string, isKnown: boolean): void {
    const type = typeOf(item);
    if (isKnown && !(type === "message" && isSystem(item.role))) return;
    switch (type) {
      case "message":
        this.#takeMessage(item, pointer);
        return;
      case "function_call":
      case "mcp_call":
        this.#takeCall(item, pointer);
        return;
      case "function_call_output":
        this.#takeResult(item, pointer);
        return;
      case "mcp_approval_response":
        this.#decisions.push(readApproval(item, pointer));
        return;
      // What the model thought is not told to it again, and a question for approval is no part of the conversation.
      case "reasoning":
      case "mcp_approval_request":
        return;
      case "item_reference":
        throw invalid(`${pointer}/id`, "is not the id of an item of a stored response");
      default:
        throw invalid(`${pointer}/type`, `${JSON.stringify(type)} is not supported`);
    }
  }

  #takeMessage(item: InputItem, pointer: string): void {
    const { role, content } = item;
    if (isSystem(role)) {
      this.#system.push(...textsIn(content, pointer));
      return;
    }
    if (role !== "user" && role !== "assistant")
      throw invalid(`${pointer}/role`, "must be user, assistant, system or developer");
    const parts = partsOfContent(content, role, `${pointer}/content`);
    this.#draft(role).push(...parts);
  }

  #takeCall(item: InputItem, pointer: string): void {
    const name = textOf(item, "name", pointer);
    if (!/^[A-Za-z0-9_-]{1,128}$/.test(name))
      throw invalid(`${pointer}/name`, "must have 1 to 128 letters, digits, _ and -");
    const part: Record<string, unknown> = {
      type: `tool-${name}`,
      toolCallId: typeof item.call_id === "string" ? item.call_id : String(item.id ?? newId("message")),
      state: "output-error",
      input: readArguments(item, pointer),
      errorText: "The call has no result.",
    };
    this.#draft("assistant").push(part);
    if (typeof item.output === "string") settle(part, item.output);
    else if (typeof item.error === "string") part.errorText = item.error;
  }

  #takeResult(item: InputItem, pointer: string): void {
    const toolCallId = textOf(item, "call_id", pointer);
    const output = outputOfResult(item, pointer);
    if (Buffer.byteLength(JSON.stringify(output)) > clientResultBytesMax)
      throw invalid(`${pointer}/output`, `must be at most ${clientResultBytesMax} bytes as JSON`);
    for (const draft of this.#drafts.toReversed()) {
      const call = draft.role === "user" ? undefined : draft.parts.findLast((part) => part.toolCallId === toolCallId);
      if (call === undefined) continue;
      settle(call, output);
      return;
    }
    if (this.#results.some(({ result }) => result.toolCallId === toolCallId))
      throw invalid(`${pointer}/call_id`, "has an output already");
    this.#results.push({ pointer, result: { toolCallId, output: storable(output) } });
  }

  #draft(role: "user" | "assistant"): object[] {
    const last = this.#drafts.at(-1);
    if (last?.role === role) return last.parts;
    const draft = { role, parts: [] as Record<string, unknown>[] };
    this.#drafts.push(draft);
    return draft.parts;
  }

  read(): ReadInput {
    const messages = this.#drafts.map(({ role, parts }) => ({ id: newId("message"), role, parts }));
    for (const { role, parts } of messages) if (role === "user") checkParts(parts, "/input");
    return { system: this.#system, messages, results: this.#results, decisions: this.#decisions };
  }
}

function isSystem(role: unknown): boolean {
  return role === "system" || role === "developer";
}

function settle(part: Record<string, unknown>, output: string): void {
  Object.assign(part, { state: "output-available", output: storable(output) });
  delete part.errorText;
}

function readApproval(item: InputItem, pointer: string): Decided {
  const { approve, reason = null } = item;
  if (typeof approve !== "boolean") throw invalid(`${pointer}/approve`, "must be true or false");
  if (reason !== null && (typeof reason !== "string" || [...reason].length > approvalReasonCharactersMax))
    throw invalid(`${pointer}/reason`, `must be a text of at most ${approvalReasonCharactersMax} characters`);
  return { pointer, approvalId: textOf(item, "approval_request_id", pointer), approved: approve, reason };
}

function textOf(item: InputItem, field: string, pointer: string): string {
  const value = item[field];
  if (typeof value !== "string" || value === "") throw invalid(`${pointer}/${field}`, "must be a text");
  return value;
}

function readArguments(item: InputItem, pointer: string): unknown {
  const text = item.arguments ?? "{}";
  try {
    if (typeof text === "string") return storable(JSON.parse(text === "" ? "{}" : text));
  } catch {
    // Said below.
  }
  throw invalid(`${pointer}/arguments`, "must be JSON as text");
}

/** A result is a text, or parts that are. */
function outputOfResult(item: InputItem, pointer: string): string {
  const { output } = item;
  if (typeof output === "string") return output;
  return textsIn(output, pointer, "output").join("\n");
}
