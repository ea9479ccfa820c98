import type { UIMessage } from "parley/client";
import { isCall } from "../conversation/parts-of.ts";

/** Nothing was said; the turn runs; it waits for a person; it is over. */
export type TalkPhase = "empty" | "running" | "waiting" | "over";

/** What a conversation is at, by its messages and the state of the AI SDK's chat. */
export function phaseOf(
  messages: readonly UIMessage[],
  status: "submitted" | "streaming" | "ready" | "error",
): TalkPhase {
  if (status === "submitted" || status === "streaming") return "running";
  const last = messages.at(-1);
  if (last === undefined) return "empty";
  const isWaiting = last.parts.some(
    (part) => isCall(part) && (part.state === "approval-requested" || part.state === "input-available"),
  );
  return isWaiting && status === "ready" ? "waiting" : "over";
}
