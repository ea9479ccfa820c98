import { TextCleaner } from "../messages/text.ts";
import type { AnswerPart } from "./step-record.ts";

/**
 * Replaces NUL and lone surrogates in a model's texts by U+FFFD, after joining pairs that
 * were split between two pieces (docs/decisions/text-and-ids.md). Applied before
 * chunks are made, so that what is streamed and what is stored are the same.
 */
export class PartCleaner {
  readonly #texts = new Map<string, TextCleaner>();

  /** Returns the parts that replace this one: none, the part itself, or two. */
  clean(part: AnswerPart): readonly AnswerPart[] {
    switch (part.type) {
      case "text-delta":
      case "reasoning-delta": {
        const text = textOf(this.#texts, part).push(part.text);
        // The signature of a thought comes as metadata of an empty text.
        if (text === "" && part.providerMetadata === undefined) return [];
        return [text === part.text ? part : { ...part, text }];
      }
      case "text-end":
      case "reasoning-end": {
        const rest = textOf(this.#texts, part).end();
        this.#texts.delete(keyOf(part));
        if (rest === "") return [part];
        const type = part.type === "text-end" ? "text-delta" : "reasoning-delta";
        return [{ type, id: part.id, text: rest } as AnswerPart, part];
      }
      default:
        return [part];
    }
  }
}

function keyOf(part: { readonly type: string; readonly id: string }): string {
  return `${part.type.startsWith("text") ? "text" : "reasoning"}:${part.id}`;
}

function textOf(cleaners: Map<string, TextCleaner>, part: { readonly type: string; readonly id: string }): TextCleaner {
  const key = keyOf(part);
  let cleaner = cleaners.get(key);
  if (cleaner === undefined) {
    cleaner = new TextCleaner();
    cleaners.set(key, cleaner);
  }
  return cleaner;
}
