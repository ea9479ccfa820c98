import type { FileUIPart, UIMessage } from "ai";
import type { UIMessage as StoredMessage } from "parley/client";
import { messageText } from "../turns/turn-words.ts";

/** What a person sends. */
export interface Said {
  readonly text: string;
  readonly files: FileUIPart[];
}

/** The last question of a conversation; null: there is none. */
export function lastQuestion(messages: readonly UIMessage[]): Said | null {
  const message = messages.findLast(({ role }) => role === "user");
  if (message === undefined) return null;
  return { text: messageText(message as StoredMessage), files: message.parts.filter((part) => part.type === "file") };
}

/** The text of the answer to the last question; empty: there is none. */
export function lastAnswer(messages: readonly UIMessage[]): string {
  const message = messages.at(-1);
  return message?.role === "assistant" ? messageText(message as StoredMessage) : "";
}

/** The body of a message of the AI SDK's chat. */
export function asMessage({ text, files }: Said) {
  return text.trim() === "" ? { files } : { text, files };
}
