import { useInfiniteQuery } from "@tanstack/react-query";
import type { UIMessage } from "parley/client";
import { Fragment, useEffect, useState } from "react";
import { parley } from "../api/client.ts";
import { queryClient } from "../api/queries.ts";
import { MessageView } from "../conversation/message-view.tsx";
import { isCall } from "../conversation/parts-of.ts";
import { useMessageTurns, useUnanswered } from "../conversation/transcript-turns.ts";
import { TurnMoment } from "../conversation/turn-moment.tsx";
import { Unanswered } from "../conversation/unanswered.tsx";
import { Button } from "../parts/button.tsx";
import { Empty, LoadFailure, Loading } from "../parts/states.tsx";

interface TranscriptProps {
  readonly agentId: string;
  readonly sessionId: string;
  /** When the session was used last: then the newest page is read anew. */
  readonly updatedAt: string;
  /** The turn that has not ended: a failed one leaves nothing else behind. */
  readonly activeTurnId: string | null;
  /** What the session was found by: the first message that says it is marked, and brought into view. */
  readonly words?: string | undefined;
}

/** What was said, the newest page first, with the turns that failed in their places; earlier messages are put before it. */
export function Transcript({ agentId, sessionId, updatedAt, activeTurnId, words }: TranscriptProps) {
  const [unfolded, setUnfolded] = useState(false);
  const query = useInfiniteQuery({
    queryKey: ["messages", sessionId],
    queryFn: ({ pageParam, signal }) =>
      parley.sessions.listMessages(
        agentId,
        sessionId,
        { limit: 50, ...(pageParam === undefined ? { pending: true } : { cursor: pageParam }) },
        { signal },
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const { refetch, isPending } = query;
  useEffect(() => {
    if (!isPending) void refetch();
  }, [updatedAt, refetch]);
  const messages = query.data?.pages.toReversed().flatMap(({ data }) => data) ?? [];
  const part = {
    sessionId,
    fromMessageId: query.hasNextPage ? messages[0]?.id : undefined,
    state: `${updatedAt} ${activeTurnId}`,
  };
  const { turns: unanswered } = useUnanswered(part);
  const turnsOf = useMessageTurns(part);
  if (query.data === undefined)
    return query.error === null ? <Loading /> : <LoadFailure error={query.error} retry={() => void refetch()} />;
  const after = (id: string | null) =>
    unanswered
      .filter(({ afterMessageId }) => afterMessageId === id)
      .map((turn) => <Unanswered key={turn.turnId} turn={turn} onRunAgain={() => readAnew(sessionId)} />);
  const found = messages.find((message) => says(message, words));
  const shown = (message: (typeof messages)[number]) => {
    const turn = turnsOf.get(message.id);
    const moment = turn && <TurnMoment turnId={turn.turnId} at={turn.at} />;
    const view = <MessageView message={message} unfolded={unfolded} actions={moment} />;
    if (message !== found) return view;
    return (
      <div className="found-message" ref={showOnce}>
        {view}
      </div>
    );
  };
  if (messages.length === 0 && unanswered.length === 0) return <Empty>Nothing was said yet.</Empty>;
  return (
    <div className="transcript">
      <p className="transcript-tools">
        {query.hasNextPage && (
          <Button disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Earlier messages
          </Button>
        )}
        {messages.some(({ parts }) => parts.some(isCall)) && (
          <Button tone="quiet" onClick={() => setUnfolded(!unfolded)}>
            {unfolded ? "Fold tools" : "Unfold tools"}
          </Button>
        )}
      </p>
      {after(null)}
      {messages.map((message) => (
        <Fragment key={`${message.id} ${message.pending}`}>
          {shown(message)}
          {after(message.id)}
        </Fragment>
      ))}
    </div>
  );
}

/** Reads a session anew, with all that its page shows of it. */
function readAnew(sessionId: string): void {
  for (const name of ["session", "messages", "session-turns", "unanswered", "message-turns"])
    void queryClient.invalidateQueries({ queryKey: [name, sessionId] });
}

/** Whether these words are in a text of a message, whatever their case. */
function says({ parts }: UIMessage, words: string | undefined): boolean {
  if (words === undefined) return false;
  const sought = words.toLowerCase();
  return parts.some(
    (part) => "text" in part && typeof part.text === "string" && part.text.toLowerCase().includes(sought),
  );
}

/** Brings an element into view when it is first there. */
function showOnce(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "center" });
}
