import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { parley } from "../api/client.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { countText, durationText } from "../parts/moment.ts";
import { costText } from "../parts/money.ts";
import { firstTextOf, ranOf } from "../turns/turn-times.ts";

interface LastTurnProps {
  readonly sessionId: string;
  /** How many messages there are: of another number the turn is read anew. */
  readonly count: number;
}

/** What the last turn of a session took, and the way to its page. */
export function LastTurn({ sessionId, count }: LastTurnProps) {
  const { data } = useQuery({
    queryKey: ["last-turn", sessionId, count],
    queryFn: ({ signal }) => parley.turns.list({ sessionId, limit: 1 }, { signal }),
    staleTime: 0,
    // A canceled turn ends a moment after its stream.
    refetchInterval: ({ state }) => (state.data?.data[0]?.finishedAt === null ? 1000 : false),
  });
  const turn = data?.data[0];
  if (turn === undefined || turn.finishedAt === null) return null;
  const firstTextMs = firstTextOf(turn);
  return (
    <p className="last-turn">
      <StatusBadge status={turn.status} />
      {turn.startedAt !== null && <span>{durationText(ranOf(turn, Date.now()))}</span>}
      {firstTextMs !== null && <span>first text after {durationText(firstTextMs)}</span>}
      {turn.waitedMs > 0 && <span>waited {durationText(turn.waitedMs)} for people</span>}
      <span>
        {countText(turn.inputTokens)} tokens in, {countText(turn.outputTokens)} out
      </span>
      {turn.costUsd !== null && <span>{costText(turn)}</span>}
      <Link href={`/turns/${turn.id}`}>Turn</Link>
      <Link href={`/sessions/${turn.agentId}/${sessionId}`}>Session</Link>
    </p>
  );
}
