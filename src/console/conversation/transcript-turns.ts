import { useQuery } from "@tanstack/react-query";
import type { UIMessage } from "parley/client";
import type { MessageTurn, UnansweredTurn } from "../../console-shapes/words.ts";
import { readConsole } from "../api/fetch.ts";

/** What is shown of a transcript. */
interface TranscriptPart {
  /** Null: the session has not begun. */
  readonly sessionId: string | null;
  /** The first message that is shown, where there are earlier ones. */
  readonly fromMessageId: string | undefined;
  /** What the session is at: of another state, its turns are read again. */
  readonly state: string;
}

/** How often turns without an answer are read anew, in ms: one that fails at once changes nothing else of its session. */
const refreshMs = 5_000;

/** The turns of a session that left no answer, with their places among the messages that are shown. */
export function useUnanswered(part: TranscriptPart): {
  readonly turns: readonly UnansweredTurn<UIMessage>[];
  /** Whether they are those of this state. */
  readonly isRead: boolean;
} {
  const { data, isPending, isPlaceholderData } = usePart<UnansweredTurn<UIMessage>>("unanswered", part, refreshMs);
  return { turns: data?.data ?? [], isRead: part.sessionId === null || !(isPending || isPlaceholderData) };
}

/** The turns of the messages that are shown, by the message's id. */
export function useMessageTurns(part: TranscriptPart): ReadonlyMap<string, MessageTurn> {
  const { data } = usePart<MessageTurn>("message-turns", part, false);
  return new Map(data?.data.map((turn) => [turn.messageId, turn]));
}

function usePart<Row>(
  view: string,
  { sessionId, fromMessageId, state }: TranscriptPart,
  refetchInterval: number | false,
) {
  const query = new URLSearchParams({
    sessionId: sessionId ?? "",
    ...(fromMessageId !== undefined && { fromMessageId }),
  });
  return useQuery({
    queryKey: [view, sessionId, fromMessageId, state],
    queryFn: ({ signal }) => readConsole<{ data: readonly Row[] }>(`/console/api/${view}?${query}`, { signal }),
    enabled: sessionId !== null,
    placeholderData: (before, query) => (query?.queryKey[1] === sessionId ? before : undefined),
    refetchInterval,
  });
}
