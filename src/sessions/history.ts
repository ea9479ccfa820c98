import type { Sql } from "../db.ts";
import type { Decided } from "./calls.ts";
import type { PlacedMessage, Summary } from "./compact.ts";
import type { UiMessage } from "./schema.ts";
import type { ClaimedTurn } from "./turns.ts";

/** What a claim needs to know of its session. */
export interface History {
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Stands for the messages before the first of `messages`; null when nothing was summarised, or the agent compacts nothing. */
  readonly summary: Summary | null;
  readonly messages: readonly PlacedMessage[];
  /** Of the continuation that this claim runs. */
  readonly decisions: readonly Decided[];
}

interface HistoryRow {
  metadata: Record<string, unknown>;
  upto_seq: number | null;
  summary: string | null;
  messages: { seq: number; message: UiMessage }[];
  decisions: Decided[];
}

const none: History = { metadata: {}, summary: null, messages: [], decisions: [] };

/**
 * Reads a session for a claim in one query: its metadata, the transcript behind
 * the summary (up to the cut of a regeneration, which also decides whether the
 * summary still holds), and the decisions of a continuation.
 */
export async function readHistory(sql: Sql, turn: ClaimedTurn): Promise<History> {
  if (turn.sessionId === null) return { ...none, metadata: turn.metadata };
  const { keepSeq } = turn;
  const [row] = await sql<HistoryRow[]>`
    select s.metadata, z.upto_seq, z.text as summary,
      coalesce((
        select json_agg(json_build_object('seq', m.seq, 'message', m.content) order by m.seq) from messages m
        where m.session_id = s.id and m.seq > coalesce(z.upto_seq, 0) and (${keepSeq}::bigint is null or m.seq <= ${keepSeq}::bigint)
      ), '[]') as messages,
      coalesce((
        select json_agg(json_build_object('toolCallId', a.tool_call_id, 'approved', a.status = 'approved', 'reason', a.reason))
        from approvals a where a.continuation_id = ${turn.continuationId}
      ), '[]') as decisions
    from sessions s
    left join agent_versions v on v.agent_id = s.agent_id and v.version = ${turn.agentVersion}
    left join session_summaries z on z.session_id = s.id and (v.config ->> 'autoCompaction')::boolean
      and (${keepSeq}::bigint is null or z.upto_seq <= ${keepSeq}::bigint)
    where s.id = ${turn.sessionId}`;
  if (row === undefined) return none;
  const { metadata, messages, decisions, upto_seq, summary } = row;
  return {
    metadata,
    summary: upto_seq === null || summary === null ? null : { uptoSeq: upto_seq, text: summary },
    messages,
    decisions,
  };
}
