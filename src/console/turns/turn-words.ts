import { useQuery } from "@tanstack/react-query";
import type { UIMessage } from "parley/client";
import type { TurnWords } from "../../console-shapes/words.ts";
import { readConsole } from "../api/fetch.ts";

/** The words of a turn; read anew when its state is another one. */
export function useTurnWords(turnId: string, state: string) {
  return useQuery({
    queryKey: ["turn-words", turnId, state],
    queryFn: ({ signal }) => readConsole<TurnWords<UIMessage>>(`/console/api/turn-words?turnId=${turnId}`, { signal }),
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
