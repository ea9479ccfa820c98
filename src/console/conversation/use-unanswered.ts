import { useQuery } from "@tanstack/react-query";
import type { UIMessage } from "parley/client";
import type { UnansweredTurn } from "../../console-shapes/words.ts";
import { readConsole } from "../api/fetch.ts";

interface UnansweredQuery {
  /** Null: it has not begun. */
  readonly sessionId: string | null;
  /** The first message that is shown, where there are earlier ones. */
  readonly fromMessageId: string | undefined;
  /** What the session is at: of another state, they are read again. */
  readonly state: string;
}

/** How often they are read anew, in ms. */
const refreshMs = 5_000;

/** The turns of a session that left no answer, with their places among the messages that are shown. */
export function useUnanswered({ sessionId, fromMessageId, state }: UnansweredQuery): {
  readonly turns: readonly UnansweredTurn<UIMessage>[];
  /** Whether they are those of this state. */
  readonly isRead: boolean;
} {
  const query = new URLSearchParams({
    sessionId: sessionId ?? "",
    ...(fromMessageId !== undefined && { fromMessageId }),
  });
  const { data, isPending, isPlaceholderData } = useQuery({
    queryKey: ["unanswered", sessionId, fromMessageId, state],
    queryFn: ({ signal }) =>
      readConsole<{ data: readonly UnansweredTurn<UIMessage>[] }>(`/console/api/unanswered?${query}`, { signal }),
    enabled: sessionId !== null,
    placeholderData: (before, query) => (query?.queryKey[1] === sessionId ? before : undefined),
    // A turn that fails at once changes nothing else of its session.
    refetchInterval: refreshMs,
  });
  return { turns: data?.data ?? [], isRead: sessionId === null || !(isPending || isPlaceholderData) };
}
