import type { UIMessageChunk } from "ai";
import { callChunks, chunksOf, type SeenCall } from "./to-chunks.ts";
import { isStreamOnly } from "./tool-progress.ts";
import type { UiMessage } from "./ui-message.ts";

/** How far a text or a thought has come. */
interface SeenText {
  readonly id: string;
  length: number;
  isOpen: boolean;
}

type TextKind = "text" | "reasoning";

/**
 * How far a reader has come in an answer: how long each of its texts is, and how far each call is.
 * With it the rest of the answer is given from the stored message (`rest`), which is divided
 * otherwise than the stream was.
 */
export class SeenChunks {
  readonly #texts: Readonly<Record<TextKind, SeenText[]>> = { text: [], reasoning: [] };
  readonly #calls = new Map<string, SeenCall>();
  /** How many files, sources and data parts came, by type. */
  readonly #others = new Map<string, number>();
  #stepsBegun = 0;
  #stepsEnded = 0;

  /** Notes the next chunk that the reader has been given. */
  note(chunk: UIMessageChunk): void {
    const [, kind, what] = /^(text|reasoning)-(start|delta|end)$/.exec(chunk.type) ?? [];
    if (kind !== undefined) this.#noteText(kind as TextKind, what, chunk as { id: string; delta?: string });
    else if (chunk.type === "start-step") this.#stepsBegun++;
    else if (chunk.type === "finish-step") this.#stepsEnded++;
    else if (chunk.type.startsWith("tool-")) this.#noteCall(chunk as UIMessageChunk & { readonly toolCallId?: string });
    else if (isOther(chunk.type) && !isStreamOnly(chunk))
      this.#others.set(chunk.type, (this.#others.get(chunk.type) ?? 0) + 1);
  }

  #noteText(kind: TextKind, what: string | undefined, { id, delta = "" }: { id: string; delta?: string }): void {
    if (what === "start") this.#texts[kind].push({ id, length: 0, isOpen: true });
    const text = this.#texts[kind].findLast((known) => known.id === id);
    if (text === undefined) return;
    text.length += delta.length;
    if (what === "end") text.isOpen = false;
  }

  #noteCall(chunk: UIMessageChunk & { readonly toolCallId?: string }): void {
    const { type, toolCallId } = chunk;
    // An approval's response names no call; the call's own chunks say what came of it.
    if (toolCallId === undefined) return;
    const seen = this.#calls.get(toolCallId) ?? { isWhole: false, isAsked: false, isEnded: false };
    this.#calls.set(toolCallId, {
      isWhole: seen.isWhole || type === "tool-input-available",
      isAsked: seen.isAsked || type === "tool-approval-request",
      isEnded: seen.isEnded || endsCall(chunk),
    });
  }

  /**
   * Returns the chunks that are missing of the message; null when what came is no part of it.
   * `before` is the message that the stream went on with, which its reader has; null for a new one.
   */
  rest(message: UiMessage, before: UiMessage | null): unknown[] | null {
    const known = before?.parts.length ?? 0;
    const chunks: unknown[] = message.parts.slice(0, known).flatMap((part, index) => {
      const seen = this.#calls.get((part as { readonly toolCallId?: string }).toolCallId ?? "");
      const isEnded = !hasEnd(message, index) || (seen?.isEnded ?? hasEnd(before, index));
      return callChunks(part, { isWhole: true, isAsked: true, isEnded });
    });
    const left = new Left(this.#texts, this.#others);
    let steps = 0;
    for (const part of message.parts.slice(known) as { readonly type: string }[]) {
      if (part.type === "step-start") {
        if (steps > 0 && this.#stepsEnded < steps) chunks.push({ type: "finish-step" });
        steps++;
        if (this.#stepsBegun < steps) chunks.push({ type: "start-step" });
        continue;
      }
      const missing = this.#missingOf(part, left, chunks.length);
      if (missing === null) return null;
      chunks.push(...missing);
    }
    if (left.any || steps < this.#stepsBegun) return null;
    if (this.#stepsEnded < steps) chunks.push({ type: "finish-step" });
    return chunks;
  }

  #missingOf(part: { readonly type: string }, left: Left, number: number): unknown[] | null {
    if (part.type === "text" || part.type === "reasoning")
      return missingText(part as StoredText, left.nextText(part as StoredText), number);
    const { toolCallId } = part as { readonly toolCallId?: string };
    if (toolCallId !== undefined) return callChunks(part, this.#calls.get(toolCallId) ?? null);
    return left.hasOther(part.type) ? [] : partChunks(part);
  }
}

interface StoredText {
  readonly type: TextKind;
  readonly text: string;
  /** A thought keeps its id in the message, a text does not. */
  readonly id?: string;
  readonly providerMetadata?: unknown;
}

/** What came and has not been found in the message yet, in the order in which it came. */
class Left {
  readonly #texts: Readonly<Record<TextKind, SeenText[]>>;
  readonly #others: Map<string, number>;

  constructor(texts: Readonly<Record<TextKind, readonly SeenText[]>>, others: ReadonlyMap<string, number>) {
    // One that stayed empty is in some messages and not in others.
    const isSaid = ({ length, isOpen }: SeenText) => length > 0 || isOpen;
    this.#texts = { text: texts.text.filter(isSaid), reasoning: texts.reasoning.filter(isSaid) };
    this.#others = new Map(others);
  }

  nextText({ type, text }: StoredText): SeenText | null {
    return text === "" ? null : (this.#texts[type].shift() ?? null);
  }

  hasOther(type: string): boolean {
    const count = this.#others.get(type) ?? 0;
    if (count > 0) this.#others.set(type, count - 1);
    return count > 0;
  }

  /** Whether something is left that the message does not have: a text that was only begun is none. */
  get any(): boolean {
    const texts = [...this.#texts.text, ...this.#texts.reasoning];
    return texts.some(({ length }) => length > 0) || [...this.#others.values()].some((count) => count > 0);
  }
}

/** Returns what is missing of a text; null when more came than it has. */
function missingText(part: StoredText, seen: SeenText | null, number: number): unknown[] | null {
  const { type, text, id: own, providerMetadata } = part;
  if (seen === null && text === "") return [];
  const { id, length, isOpen } = seen ?? { id: own ?? `rest-${number}`, length: 0, isOpen: true };
  if (length > text.length) return null;
  const delta = text.slice(length);
  if (!isOpen) return delta === "" ? [] : null;
  const extra = providerMetadata === undefined ? {} : { providerMetadata };
  return [
    ...(seen === null ? [{ type: `${type}-start`, id, ...extra }] : []),
    ...(delta === "" ? [] : [{ type: `${type}-delta`, id, delta }]),
    { type: `${type}-end`, id, ...extra },
  ];
}

function partChunks(part: unknown): unknown[] {
  return chunksOf({ id: "", role: "assistant", parts: [part] });
}

function isOther(type: string): boolean {
  return type === "file" || type.startsWith("source-") || type.startsWith("data-");
}

function endsCall(chunk: UIMessageChunk): boolean {
  if (chunk.type === "tool-output-available") return chunk.preliminary !== true;
  return ["tool-output-error", "tool-output-denied", "tool-input-error"].includes(chunk.type);
}

function hasEnd(message: UiMessage | null, index: number): boolean {
  const { state } = (message?.parts[index] ?? {}) as { readonly state?: string };
  return state?.startsWith("output-") ?? false;
}
