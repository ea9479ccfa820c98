import type { UIMessage } from "parley/client";
import { type CallPart, isCall } from "../conversation/parts-of.ts";

/** Nothing was said; the turn runs; it waits for a person; it is over. */
export type TalkPhase = "empty" | "running" | "waiting" | "over";

/** What a conversation is at, by its messages and the state of the AI SDK's chat. */
export function phaseOf(
  messages: readonly UIMessage[],
  status: "submitted" | "streaming" | "ready" | "error",
): TalkPhase {
  if (status === "submitted" || status === "streaming") return "running";
  if (messages.length === 0) return "empty";
  return waitingCalls(messages).length > 0 && status === "ready" ? "waiting" : "over";
}

/** The calls of the last message that wait for a person. */
export function waitingCalls(messages: readonly UIMessage[]): CallPart[] {
  const calls = (messages.at(-1)?.parts ?? []).filter((part): part is CallPart => isCall(part));
  return calls.filter(({ state }) => state === "approval-requested" || state === "input-available");
}

/** What became of these calls by these messages, as a text to compare; empty: they all wait still. */
export function movesOf(calls: readonly CallPart[], messages: readonly UIMessage[]): string {
  const parts = messages.flatMap((message) => message.parts).filter((part): part is CallPart => isCall(part));
  return calls
    .map(({ toolCallId, state }) => {
      const now = parts.findLast((part) => part.toolCallId === toolCallId)?.state ?? "gone";
      return now === state ? "" : `${toolCallId} ${now};`;
    })
    .join("");
}
