import { useInfiniteQuery } from "@tanstack/react-query";
import { Fragment, useEffect, useState } from "react";
import { parley } from "../api/client.ts";
import { MessageView } from "../conversation/message-view.tsx";
import { Button } from "../parts/button.tsx";
import { Empty, LoadFailure, Loading } from "../parts/states.tsx";
import { Unanswered, useUnanswered } from "./unanswered.tsx";

interface TranscriptProps {
  readonly agentId: string;
  readonly sessionId: string;
  /** When the session was used last: then the newest page is read anew. */
  readonly updatedAt: string;
  /** The turn that has not ended: a failed one leaves nothing else behind. */
  readonly activeTurnId: string | null;
}

/** What was said, the newest page first, with the turns that failed in their places; earlier messages are put before it. */
export function Transcript({ agentId, sessionId, updatedAt, activeTurnId }: TranscriptProps) {
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
  const unanswered = useUnanswered({
    sessionId,
    fromMessageId: query.hasNextPage ? messages[0]?.id : undefined,
    state: `${updatedAt} ${activeTurnId}`,
  });
  if (query.data === undefined)
    return query.error === null ? <Loading /> : <LoadFailure error={query.error} retry={() => void refetch()} />;
  const after = (id: string | null) =>
    unanswered
      .filter(({ afterMessageId }) => afterMessageId === id)
      .map((turn) => <Unanswered key={turn.turnId} turn={turn} sessionId={sessionId} />);
  if (messages.length === 0 && unanswered.length === 0) return <Empty>Nothing was said yet.</Empty>;
  return (
    <div className="transcript">
      <p className="transcript-tools">
        {query.hasNextPage && (
          <Button disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Earlier messages
          </Button>
        )}
        <Button tone="quiet" onClick={() => setUnfolded(!unfolded)}>
          {unfolded ? "Fold tools" : "Unfold tools"}
        </Button>
      </p>
      {after(null)}
      {messages.map((message) => (
        <Fragment key={`${message.id} ${message.pending}`}>
          <MessageView message={message} unfolded={unfolded} />
          {after(message.id)}
        </Fragment>
      ))}
    </div>
  );
}
