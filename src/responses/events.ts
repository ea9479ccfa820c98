import type { IdOf } from "../kernel/ids.ts";
import {
  approvalItem,
  argumentsOf,
  type CallEnd,
  denialOf,
  functionCallItem,
  hostedCallItem,
  messageItem,
  type OutputItem,
  reasoningItem,
  summaryPart,
  type ToolCall,
  textPart,
  type Unplaced,
} from "./items.ts";
import type { AskedApproval } from "./read.ts";
import { type ItemPrefix, itemIdOf } from "./response-id.ts";

/** An event of the protocol, before it has its number. */
export interface ResponseEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A chunk of a turn log, of which only these fields are read. */
export interface LogChunk {
  readonly type: string;
  readonly id?: string;
  readonly delta?: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly inputTextDelta?: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly errorText?: string;
  readonly approvalId?: string;
  readonly isAutomatic?: boolean;
  readonly preliminary?: boolean;
  readonly reason?: string;
}

/** An event about an item, for which its place is not known yet. */
type ItemEvent = (at: { readonly output_index: number; readonly item_id: string }) => ResponseEvent;

/**
 * An item of the output while it grows. Items are told one after the other, in the order in which
 * the model began them: a client adds each to the end of its list.
 */
interface GrowingItem {
  readonly kind: "text" | "reasoning" | "call";
  /** What was said; of a call the input, as far as it came in pieces. */
  text: string;
  call: ToolCall | null;
  /** What is to be told once the items before it are complete. */
  held: ItemEvent[];
  /** The item as it is in the end; null for one of which nothing is told. */
  whole: Unplaced | null;
  isDone: boolean;
  /** The approval that was decided on before this response began. */
  readonly approvalId: string | null;
  /** The approval that the policy denied by itself. */
  deniedId: string | null;
  /** Why the call was denied. */
  reason: string | null;
}

/**
 * Turns the chunks of a turn log into the protocol's events about items, and keeps the output. What
 * a call is (the caller's, one that ran here, or one that waits for a person) is known only when it ends
 * or its step does; so a call is told whole.
 */
export class ItemEvents {
  readonly #id: IdOf<"response">;
  readonly #output: OutputItem[] = [];
  /** The texts and thoughts that are open, by their ids in the log. */
  readonly #texts = new Map<string, GrowingItem>();
  /** From the first item that is not complete on. */
  #growing: GrowingItem[] = [];

  /** `asked` are the approvals that were decided on before the response began. */
  constructor(id: IdOf<"response">, asked: readonly AskedApproval[]) {
    this.#id = id;
    for (const approval of asked) {
      const item = this.#begin("call", { call: approval, approvalId: approval.id, reason: approval.reason });
      // The log may tell it later, beside what a caller's tool does.
      if (approval.status === "denied") this.#endCall(item, denialOf(approval.reason));
    }
  }

  /** Returns the output so far: the items that are complete. */
  get output(): readonly OutputItem[] {
    return this.#output;
  }

  /** Returns the events that a chunk makes. */
  take(chunk: LogChunk): ResponseEvent[] {
    this.#apply(chunk);
    return this.#release();
  }

  /** Returns the events that end what is still open, when no more chunks come. */
  end(): ResponseEvent[] {
    for (const item of this.#growing) {
      if (item.isDone) continue;
      if (item.kind === "call") item.isDone = true;
      else this.#endText(item, "incomplete");
    }
    return this.#release();
  }

  #apply(chunk: LogChunk): void {
    const { type, id, delta = "" } = chunk;
    switch (type) {
      case "text-start":
      case "reasoning-start":
        this.#begin(type === "text-start" ? "text" : "reasoning", { streamId: id ?? "" });
        return;
      case "text-delta":
      case "reasoning-delta": {
        const item = this.#texts.get(id ?? "");
        if (item !== undefined && delta !== "") this.#addText(item, delta);
        return;
      }
      case "text-end":
      case "reasoning-end": {
        const item = this.#texts.get(id ?? "");
        if (item !== undefined) this.#endText(item, "completed");
        this.#texts.delete(id ?? "");
        return;
      }
      case "tool-approval-response": {
        const item = this.#growing.find(({ deniedId }) => deniedId !== null && deniedId === chunk.approvalId);
        if (item !== undefined) item.reason = chunk.reason ?? null;
        return;
      }
      case "finish-step":
      case "finish":
        this.#giveToCaller();
        return;
      default:
        if (chunk.toolCallId !== undefined) this.#applyToCall(chunk, chunk.toolCallId);
    }
  }

  #applyToCall(chunk: LogChunk, toolCallId: string): void {
    const { type, toolName, input } = chunk;
    const item = this.#growing.find(({ call, isDone }) => call?.toolCallId === toolCallId && !isDone);
    if (type === "tool-input-start") {
      if (item === undefined) this.#begin("call", { call: { toolCallId, tool: toolName ?? "", input: undefined } });
      return;
    }
    // All that a log has of the input which was made from a stored message.
    if (type === "tool-input-delta") {
      if (item !== undefined) item.text += chunk.inputTextDelta ?? "";
      return;
    }
    if (type === "tool-input-available" || type === "tool-input-error") {
      const call = { toolCallId, tool: toolName ?? "", input };
      const known = item ?? this.#begin("call", { call });
      known.call = call;
      if (type === "tool-input-error") this.#endCall(known, { error: chunk.errorText ?? "" });
      return;
    }
    // The results of the caller's own calls come again with the continuation.
    if (item === undefined || item.call === null) return;
    if (type === "tool-approval-request" && chunk.isAutomatic !== true)
      this.#tellWhole(item, approvalItem(item.call, chunk.approvalId ?? ""));
    else if (type === "tool-output-available" && chunk.preliminary !== true)
      this.#endCall(item, { output: chunk.output });
    else if (type === "tool-output-error") this.#endCall(item, { error: chunk.errorText ?? "" });
    else if (type === "tool-approval-request") item.deniedId = chunk.approvalId ?? null;
    else if (type === "tool-output-denied") this.#endCall(item, denialOf(item.reason));
  }

  #begin(
    kind: GrowingItem["kind"],
    {
      call = null,
      approvalId = null,
      reason = null,
      streamId = null,
    }: { call?: ToolCall | null; approvalId?: string | null; reason?: string | null; streamId?: string | null },
  ): GrowingItem {
    const item: GrowingItem = {
      kind,
      text: "",
      call,
      held: [],
      whole: null,
      isDone: false,
      approvalId,
      deniedId: null,
      reason,
    };
    this.#growing.push(item);
    if (streamId !== null) this.#texts.set(streamId, item);
    return item;
  }

  #addText(item: GrowingItem, delta: string): void {
    if (item.text === "") item.held.push(...beginningOf(item.kind, this.#id));
    item.text += delta;
    item.held.push(({ output_index, item_id }) =>
      item.kind === "text"
        ? { type: "response.output_text.delta", item_id, output_index, content_index: 0, delta, logprobs: [] }
        : { type: "response.reasoning_summary_text.delta", item_id, output_index, summary_index: 0, delta },
    );
  }

  #endText(item: GrowingItem, status: "completed" | "incomplete"): void {
    item.isDone = true;
    if (item.text === "") return;
    const { text } = item;
    item.whole = item.kind === "text" ? messageItem(text, status) : reasoningItem(text, status);
    item.held.push(...endingOf(item.kind, text));
  }

  #endCall(item: GrowingItem, end: CallEnd): void {
    const { call, text, approvalId } = item;
    if (call === null) return;
    const { input = inputOf(text) } = call;
    this.#tellWhole(item, hostedCallItem({ ...call, input }, end, approvalId));
  }

  /** Tells an item that is complete from its beginning on. */
  #tellWhole(item: GrowingItem, whole: Unplaced): void {
    item.whole = whole;
    item.isDone = true;
    item.held.push((at) => ({
      type: "response.output_item.added",
      output_index: at.output_index,
      item: this.#place(whole, at.output_index),
    }));
  }

  /** A call that has no end when its step has one is the caller's. */
  #giveToCaller(): void {
    for (const item of this.#growing) {
      const { call } = item;
      if (item.isDone || call === null) continue;
      item.isDone = true;
      item.whole = functionCallItem(call, "completed");
      const begun = functionCallItem(call, "in_progress");
      const given = argumentsOf(call);
      item.held.push(
        ({ output_index }) => ({
          type: "response.output_item.added",
          output_index,
          item: this.#place(begun, output_index),
        }),
        (at) => ({ type: "response.function_call_arguments.delta", ...at, delta: given }),
        (at) => ({ type: "response.function_call_arguments.done", ...at, name: call.tool, arguments: given }),
      );
    }
  }

  #place(item: Unplaced, place: number): OutputItem {
    return item((prefix: ItemPrefix) => itemIdOf(prefix, this.#id, place));
  }

  /** Returns what may be told by now: all about the items that are complete, and about the first that is not. */
  #release(): ResponseEvent[] {
    const ready: ResponseEvent[] = [];
    for (let first = this.#growing[0]; first !== undefined; first = this.#growing[0]) {
      const output_index = this.#output.length;
      const prefix = first.kind === "text" ? "msg" : first.kind === "reasoning" ? "rs" : "fc";
      const at = { output_index, item_id: itemIdOf(prefix, this.#id, output_index) };
      for (const event of first.held) ready.push(event(at));
      first.held = [];
      if (!first.isDone) break;
      this.#growing.shift();
      if (first.whole === null) continue;
      const item = this.#place(first.whole, output_index);
      this.#output.push(item);
      ready.push({ type: "response.output_item.done", output_index, item });
    }
    return ready;
  }
}

function inputOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** Returns the events that begin a text or a thought. */
function beginningOf(kind: GrowingItem["kind"], id: IdOf<"response">): ItemEvent[] {
  const isText = kind === "text";
  const empty = isText ? messageItem(null, "in_progress") : reasoningItem(null, "in_progress");
  return [
    ({ output_index }) => ({
      type: "response.output_item.added",
      output_index,
      item: empty((prefix) => itemIdOf(prefix, id, output_index)),
    }),
    ({ output_index, item_id }) =>
      isText
        ? { type: "response.content_part.added", item_id, output_index, content_index: 0, part: textPart("") }
        : {
            type: "response.reasoning_summary_part.added",
            item_id,
            output_index,
            summary_index: 0,
            part: summaryPart(""),
          },
  ];
}

/** Returns the events that end a text or a thought, but for the item's own. */
function endingOf(kind: GrowingItem["kind"], text: string): ItemEvent[] {
  if (kind === "text")
    return [
      (at) => ({ type: "response.output_text.done", ...at, content_index: 0, text, logprobs: [] }),
      (at) => ({ type: "response.content_part.done", ...at, content_index: 0, part: textPart(text) }),
    ];
  return [
    (at) => ({ type: "response.reasoning_summary_text.done", ...at, summary_index: 0, text }),
    (at) => ({ type: "response.reasoning_summary_part.done", ...at, summary_index: 0, part: summaryPart(text) }),
  ];
}
