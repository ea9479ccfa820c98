import { useQuery } from "@tanstack/react-query";
import type { UIMessage } from "parley/client";
import { readConsole } from "../api/fetch.ts";

/** What a turn was asked and what it said, of `GET /console/api/turn-words`. */
export interface TurnWords {
  readonly question: UIMessage | null;
  readonly answer: UIMessage | null;
  readonly isLeftOut: boolean;
}

/** The words of a turn; read anew when its state is another one. */
export function useTurnWords(turnId: string, state: string) {
  return useQuery({
    queryKey: ["turn-words", turnId, state],
    queryFn: ({ signal }) => readConsole<TurnWords>(`/console/api/turn-words?turnId=${turnId}`, { signal }),
    placeholderData: (before) => before,
  });
}

/** The text of a message. */
export function messageText(message: UIMessage | null | undefined): string {
  return (message?.parts ?? [])
    .map((part) => (part.type === "text" && "text" in part ? part.text : ""))
    .filter((text) => text !== "")
    .join("\n");
}
