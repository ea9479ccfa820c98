import type { TextStreamPart, ToolSet } from "ai";
import { isId, newId } from "../ids.ts";
import { TextCleaner } from "../sessions/transcript.ts";

/**
 * Replaces NUL and lone surrogates in a model's texts by U+FFFD, after joining
 * pairs that were split between two pieces (`decisions.md`, "Requests"), and
 * gives approvals ids of ours. Stands before the chunks, so that what is streamed
 * and what is stored are the same.
 */
export class Cleaner<T extends ToolSet> {
  private readonly texts = new Map<string, TextCleaner>();
  private readonly approvalIds = new Map<string, string>();

  /** The parts that go on in place of this one: none, itself, or two. */
  clean(part: TextStreamPart<T>): readonly TextStreamPart<T>[] {
    switch (part.type) {
      case "text-delta":
      case "reasoning-delta": {
        const text = textOf(this.texts, part).push(part.text);
        if (text === "") return [];
        return [text === part.text ? part : { ...part, text }];
      }
      case "text-end":
      case "reasoning-end": {
        const rest = textOf(this.texts, part).end();
        this.texts.delete(keyOf(part));
        if (rest === "") return [part];
        const type = part.type === "text-end" ? "text-delta" : "reasoning-delta";
        return [{ type, id: part.id, text: rest } as TextStreamPart<T>, part];
      }
      case "tool-approval-request":
      case "tool-approval-response":
        return [{ ...part, approvalId: approvalIdOf(this.approvalIds, part.approvalId) }];
      default:
        return [part];
    }
  }
}

/** The id under which an approval is stored, decided and shown; one that is ours already stays. */
function approvalIdOf(ids: Map<string, string>, sdkId: string): string {
  if (isId("approval", sdkId)) return sdkId;
  const id = ids.get(sdkId) ?? newId("approval");
  ids.set(sdkId, id);
  return id;
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
