import type { UiMessage } from "./ui-message.ts";

/** A session list shows this much of the last message, in characters. */
const previewLengthMax = 200;
/** It is looked for in so much of the text: to put 16 MiB of words on one line takes 0.2 s. */
const previewSourceUnitsMax = 20_000;

/** Returns the texts of those parts that are text. */
export function textsOf(parts: UiMessage["parts"]): string[] {
  return parts.flatMap((part) => {
    const { type, text } = part as { type?: unknown; text?: unknown };
    return type === "text" && typeof text === "string" ? [text] : [];
  });
}

/** Returns the text of a message for lists: its text parts on one line, cut. */
export function previewOf(message: Pick<UiMessage, "parts">): string {
  const text = textsOf(message.parts).join(" ").trimStart().slice(0, previewSourceUnitsMax);
  // Not half of a pair, where the text was cut.
  const line = text
    .replace(/[\ud800-\udbff]$/, "")
    .replace(/\s+/g, " ")
    .trim();
  return [...line.slice(0, previewLengthMax * 2)].slice(0, previewLengthMax).join("");
}

/** Half of a surrogate pair, or NUL, as `JSON.stringify` spells them: Postgres cannot store them as text. */
const unstorable = /\\u(?:0000|d[89a-f][0-9a-f]{2})/i;

/**
 * Returns a JSON value with NUL and lone surrogates in its texts replaced by U+FFFD; the
 * same value when there are none.
 */
export function storable<T>(value: T): T {
  if (typeof value === "string") return cleanText(value) as T;
  return unstorable.test(JSON.stringify(value) ?? "") ? (cleanDeep(value) as T) : value;
}

/** Returns a text with NUL and lone surrogates replaced by U+FFFD. */
export function cleanText(text: string): string {
  return (text.isWellFormed() ? text : text.toWellFormed()).replaceAll("\0", "\uFFFD");
}

function cleanDeep(value: unknown): unknown {
  if (typeof value === "string") return cleanText(value);
  if (Array.isArray(value)) return value.map(cleanDeep);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [cleanText(key), cleanDeep(field)]));
}

/** Cleans one text that arrives in pieces: a surrogate pair that was split between two pieces is joined first. */
export class TextCleaner {
  #held = "";

  /** Returns the next piece, cleaned; half a pair at its end is held back for the next one. */
  push(piece: string): string {
    const text = this.#held + piece;
    const lastUnit = text.charCodeAt(text.length - 1);
    const endsInHalf = lastUnit >= 0xd800 && lastUnit <= 0xdbff;
    this.#held = endsInHalf ? text.slice(-1) : "";
    return cleanText(endsInHalf ? text.slice(0, -1) : text);
  }

  /** Ends the text. Returns U+FFFD when half a pair was held back, else an empty text. */
  end(): string {
    const rest = this.#held === "" ? "" : "\uFFFD";
    this.#held = "";
    return rest;
  }
}
