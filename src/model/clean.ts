import type { TextStreamPart, ToolSet } from "ai";
import { isId, newId } from "../ids.ts";
import { storable, TextCleaner } from "../sessions/transcript.ts";

/**
 * Replaces NUL and lone surrogates in all that a model sends by U+FFFD, after
 * joining pairs that were split between two pieces (`decisions.md`, "Requests"),
 * and gives approvals ids of ours. Stands before the UI stream, so that what is
 * streamed and what is stored are the same.
 */
export function cleanStream<T extends ToolSet>(): TransformStream<TextStreamPart<T>, TextStreamPart<T>> {
  const cleaners = new Map<string, TextCleaner>();
  const approvalIds = new Map<string, string>();
  return new TransformStream({
    transform(part, controller) {
      switch (part.type) {
        case "text-delta":
        case "reasoning-delta": {
          const text = cleanerOf(cleaners, part).push(part.text);
          if (text !== "") controller.enqueue(text === part.text ? part : { ...part, text });
          return;
        }
        case "text-end":
        case "reasoning-end": {
          const rest = cleanerOf(cleaners, part).end();
          const type = part.type === "text-end" ? "text-delta" : "reasoning-delta";
          if (rest !== "") controller.enqueue({ type, id: part.id, text: rest } as TextStreamPart<T>);
          cleaners.delete(keyOf(part));
          controller.enqueue(storable(part));
          return;
        }
        case "tool-approval-request":
        case "tool-approval-response":
          controller.enqueue({ ...part, approvalId: approvalIdOf(approvalIds, part.approvalId) });
          return;
        case "error":
        case "raw":
          controller.enqueue(part);
          return;
        default:
          controller.enqueue(needsLook.has(part.type) ? storable(part) : part);
      }
    },
  });
}

/** The id under which an approval is stored, decided and shown; one that is ours already stays. */
function approvalIdOf(ids: Map<string, string>, sdkId: string): string {
  if (isId("approval", sdkId)) return sdkId;
  const id = ids.get(sdkId) ?? newId("approval");
  ids.set(sdkId, id);
  return id;
}

/** Parts that carry texts of the model or of a tool beyond the deltas; the others are of our own making. */
const needsLook = new Set<string>([
  "tool-input-start",
  "tool-input-delta",
  "tool-call",
  "tool-result",
  "tool-error",
  "source",
  "file",
  "text-start",
  "reasoning-start",
]);

function keyOf(part: { readonly type: string; readonly id: string }): string {
  return `${part.type.startsWith("text") ? "text" : "reasoning"}:${part.id}`;
}

function cleanerOf(
  cleaners: Map<string, TextCleaner>,
  part: { readonly type: string; readonly id: string },
): TextCleaner {
  const key = keyOf(part);
  let cleaner = cleaners.get(key);
  if (cleaner === undefined) {
    cleaner = new TextCleaner();
    cleaners.set(key, cleaner);
  }
  return cleaner;
}
