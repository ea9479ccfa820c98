import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { parley } from "../api/client.ts";
import { MessageView } from "../conversation/message-view.tsx";
import { Button } from "../parts/button.tsx";
import { Empty, LoadFailure, Loading } from "../parts/states.tsx";

interface TranscriptProps {
  readonly agentId: string;
  readonly sessionId: string;
  /** When the session was used last: then the newest page is read anew. */
  readonly updatedAt: string;
}

/** What was said, the newest page first; earlier messages are put before it. */
export function Transcript({ agentId, sessionId, updatedAt }: TranscriptProps) {
  const [unfolded, setUnfolded] = useState(true);
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
  if (query.data === undefined)
    return query.error === null ? <Loading /> : <LoadFailure error={query.error} retry={() => void refetch()} />;
  const messages = query.data.pages.toReversed().flatMap(({ data }) => data);
  if (messages.length === 0) return <Empty>Nothing was said yet.</Empty>;
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
      {messages.map((message) => (
        <MessageView key={`${message.id} ${message.pending}`} message={message} unfolded={unfolded} />
      ))}
    </div>
  );
}
