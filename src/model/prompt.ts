import { convertToModelMessages, type ModelMessage, type UIMessage } from "ai";
import type { UiMessage } from "../messages/ui-message.ts";

/**
 * Returns a transcript as messages for the model. Tool calls without a result are left
 * out, because a provider refuses them. The messages before the first one that holds
 * anything but text are converted here, the others by the AI SDK: it takes 3 µs for each
 * message, which with 2,000 messages was half of the time before the model is called.
 */
export async function modelMessages(messages: readonly UiMessage[]): Promise<ModelMessage[]> {
  const mixedFrom = messages.findIndex((message) => !isPlain(message));
  const plain = mixedFrom === -1 ? messages : messages.slice(0, mixedFrom);
  const mixed = messages.slice(plain.length) as unknown as UIMessage[];
  const rest = mixed.length === 0 ? [] : await convertToModelMessages(mixed, { ignoreIncompleteToolCalls: true });
  return [...plain.flatMap(plainMessage), ...rest];
}

interface Part {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly providerMetadata?: unknown;
}

/** Returns whether a message holds only text: a user's, or that of one step of the assistant. */
function isPlain({ role, parts }: UiMessage): boolean {
  if (role !== "user" && role !== "assistant") return false;
  return (parts as readonly Part[]).every(
    ({ type, providerMetadata }, index) =>
      (type === "text" && providerMetadata === undefined) ||
      (type === "step-start" && role === "assistant" && index === 0),
  );
}

function plainMessage({ role, parts }: UiMessage): ModelMessage[] {
  const content = (parts as readonly Part[]).flatMap(({ type, text }) =>
    type === "text" ? [{ type: "text" as const, text: text as string }] : [],
  );
  if (role === "user") return [{ role: "user", content }];
  return content.length === 0 ? [] : [{ role: "assistant", content }];
}
