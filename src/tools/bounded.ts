import { toolResultBytesMax } from "../kernel/limits.ts";

/** Bytes kept free for a result's other fields and its note. */
const frameBytes = 8 * 1024;
const roomBytes = toolResultBytesMax - frameBytes;

/** A text, cut to the size that a result may have. */
export interface BoundedText {
  readonly text: string;
  readonly cut: boolean;
}

/** Returns the beginning of a text that takes at most `bytesMax` bytes as JSON; a surrogate pair is never split. */
export function boundText(text: string, bytesMax: number = roomBytes): BoundedText {
  if (text.length <= bytesMax && jsonBytes(text) <= bytesMax) return { text, cut: false };
  let fits = 0;
  let tooMuch = Math.min(text.length, bytesMax) + 1;
  while (tooMuch - fits > 1) {
    const length = Math.floor((fits + tooMuch) / 2);
    if (jsonBytes(text.slice(0, length)) <= bytesMax) fits = length;
    else tooMuch = length;
  }
  const lastUnit = text.charCodeAt(fits - 1);
  const splitsPair = lastUnit >= 0xd800 && lastUnit <= 0xdbff;
  return { text: text.slice(0, splitsPair ? fits - 1 : fits), cut: true };
}

/** Returns the first items, as many as a result may hold. */
export function boundItems<T>(items: readonly T[]): { items: readonly T[]; cut: boolean } {
  let bytes = 0;
  for (const [index, item] of items.entries()) {
    bytes += jsonBytes(item) + 1;
    if (bytes > roomBytes) return { items: items.slice(0, index), cut: true };
  }
  return { items, cut: false };
}

/** Returns the note of a result that was cut; `what` says what is shown, or how to get the rest. */
export function cutNote(what: string): string {
  return `Truncated: a result is cut at ${toolResultBytesMax / 1024} KiB; ${what}.`;
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}
