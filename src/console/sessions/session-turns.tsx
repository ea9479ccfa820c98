import type { TurnSummary } from "parley/client";
import { Link } from "wouter";
import { parley } from "../api/client.ts";
import { useCursorList } from "../api/cursor-list.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { countOf, countText, durationText } from "../parts/moment.ts";
import { costText, isUncounted } from "../parts/money.ts";
import { Empty, LoadFailure, Loading } from "../parts/states.tsx";
import { toneOf } from "../parts/tone.ts";
import { Waterfall } from "../parts/waterfall.tsx";
import { turnSpans } from "./turn-spans.ts";

interface SessionTurnsProps {
  readonly sessionId: string;
  readonly activeTurnId: string | null;
}

/** The session's turns as bars, the newest first. */
export function SessionTurns({ sessionId, activeTurnId }: SessionTurnsProps) {
  const list = useCursorList<TurnSummary>({
    key: ["session-turns", sessionId, activeTurnId],
    load: async (cursor, signal) => {
      const query = { sessionId, limit: 20, ...(cursor !== undefined && { cursor }) };
      const { data, nextCursor } = await parley.turns.list(query, { signal });
      return { rows: data, nextCursor };
    },
    ...(activeTurnId !== null && { refreshMs: 2000 }),
  });
  if (list.isLoading) return <Loading />;
  if (list.error !== null) return <LoadFailure error={list.error} retry={list.reload} />;
  if (list.rows.length === 0) return <Empty>There is no turn.</Empty>;
  return (
    <>
      {list.rows.map((turn) => (
        <div key={turn.id} className="turn">
          <p className="turn-head">
            <Link href={`/turns/${turn.id}`}>{turn.id}</Link>
            <StatusBadge status={turn.status} />
            <span className="faint">{usedText(turn)}</span>
            {turn.error !== null && <span className="fault">{turn.error.message}</span>}
          </p>
          <Waterfall
            caption={`Times of ${turn.id}`}
            spans={turnSpans(turn).map((span) => ({ ...span, tone: span.tone ?? toneOf(turn.status) }))}
          />
        </div>
      ))}
      {list.hasMore && (
        <p className="more">
          <Button onClick={list.loadMore} disabled={list.isLoadingMore}>
            Earlier turns
          </Button>
        </p>
      )}
    </>
  );
}

/** What a turn used, as far as it is known. */
function usedText(turn: TurnSummary): string {
  if (isUncounted(turn)) return "";
  const tokens = `${countText(turn.inputTokens)} tokens in, ${countText(turn.outputTokens)} out`;
  const calls = turn.modelCalls === 0 ? [] : [countOf(turn.modelCalls, "model call")];
  const waited = turn.waitedMs === 0 ? [] : [`waited ${durationText(turn.waitedMs)} for people`];
  return [tokens, ...(turn.costUsd === null ? [] : [costText(turn)]), ...calls, ...waited].join(", ");
}
