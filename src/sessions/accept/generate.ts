import type { Static } from "@sinclair/typebox";
import { invalid } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { checkParts, type UiMessage } from "../../messages/ui-message.ts";
import type { Generate } from "../schema.ts";

/**
 * Checks the messages of a stateless generation: the last one is the user's, and
 * users' parts follow the rules of a turn. A message without an id gets one.
 */
export function checkGenerateMessages(messages: Static<typeof Generate>["messages"]): UiMessage[] {
  const last = messages.length - 1;
  if (messages[last]?.role !== "user")
    throw invalid(`/messages/${last}/role`, "must be user: the last message is what is answered");
  for (const [index, { role, parts }] of messages.entries()) {
    if (role === "user") checkParts(parts, `/messages/${index}/parts`);
    else checkAssistantParts(parts, `/messages/${index}/parts`);
  }
  return messages.map((message) => ({ ...message, id: message.id ?? newId("message") }));
}

/** An assistant's parts are ours, or made to look so: each has a type, and texts are texts. */
function checkAssistantParts(parts: readonly unknown[], pointer: string): void {
  for (const [index, part] of parts.entries()) {
    if (typeof part !== "object" || part === null || Array.isArray(part))
      throw invalid(`${pointer}/${index}`, "must be an object");
    const { type, text } = part as { type?: unknown; text?: unknown };
    if (typeof type !== "string") throw invalid(`${pointer}/${index}/type`, "must be text");
    if (type === "text" && typeof text !== "string") throw invalid(`${pointer}/${index}/text`, "must be text");
  }
}
