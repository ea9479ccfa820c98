import { useQuery } from "@tanstack/react-query";
import type { UIMessage } from "parley/client";
import { Link } from "wouter";
import { readConsole } from "../api/fetch.ts";
import { queryClient } from "../api/queries.ts";
import { FailureBoxOf } from "../conversation/failure-box.tsx";
import { MessageView } from "../conversation/message-view.tsx";
import { RunAgain } from "../conversation/run-again.tsx";
import { When } from "../parts/when.tsx";

/** A turn that failed or was canceled, of `GET /console/api/unanswered`. */
export interface UnansweredTurn {
  readonly turnId: string;
  readonly status: "failed" | "canceled";
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly acceptedAt: string;
  readonly message: UIMessage | null;
  readonly afterMessageId: string | null;
}

interface UnansweredQuery {
  readonly sessionId: string;
  /** The first message that is shown, where there are earlier ones. */
  readonly fromMessageId: string | undefined;
  /** What the session is at: of another state, they are read again. */
  readonly state: string;
}

/** How often they are read anew, in ms. */
const refreshMs = 5_000;

/** The turns of a session that left no answer, with their places among the messages that are shown. */
export function useUnanswered({ sessionId, fromMessageId, state }: UnansweredQuery): readonly UnansweredTurn[] {
  const query = new URLSearchParams({ sessionId, ...(fromMessageId !== undefined && { fromMessageId }) });
  const { data } = useQuery({
    queryKey: ["unanswered", sessionId, fromMessageId, state],
    queryFn: ({ signal }) =>
      readConsole<{ data: readonly UnansweredTurn[] }>(`/console/api/unanswered?${query}`, { signal }),
    placeholderData: (before) => before,
    // A turn that fails at once changes nothing else of its session.
    refetchInterval: refreshMs,
  });
  return data?.data ?? [];
}

/** What was asked without an answer, and why there is none. */
export function Unanswered({ turn, sessionId }: { readonly turn: UnansweredTurn; readonly sessionId: string }) {
  const followed = () =>
    void Promise.all(
      [
        ["session", sessionId],
        ["messages", sessionId],
        ["session-turns", sessionId],
        ["unanswered", sessionId],
      ].map((queryKey) => queryClient.invalidateQueries({ queryKey })),
    );
  const { turnId, message, status } = turn;
  const when = (
    <Link href={`/turns/${turnId}`} className="faint">
      <When at={turn.acceptedAt} />
    </Link>
  );
  return (
    <div className="unanswered">
      {message !== null && <MessageView message={message} actions={when} />}
      {status === "failed" ? (
        <FailureBoxOf turnId={turnId} onRunAgain={followed} />
      ) : (
        <div className="failure-box calm">
          <p>
            {message === null ? "The turn was canceled." : "Canceled before it was answered."}{" "}
            <Link href={`/turns/${turnId}`}>Turn</Link>
          </p>
          <RunAgain turnId={turnId} onBegun={followed} />
        </div>
      )}
    </div>
  );
}
