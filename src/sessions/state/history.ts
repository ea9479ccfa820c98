import type { AnySql, Sql } from "../../kernel/database/client.ts";
import type { CallDecision } from "../../messages/tool-calls.ts";
import type { UiMessage } from "../../messages/ui-message.ts";

/** A message with its place in the transcript; null for one that is not stored yet. */
export interface PlacedMessage {
  readonly seq: number | null;
  readonly message: UiMessage;
}

/** A summary that replaces the transcript up to a place. */
export interface Summary {
  readonly uptoSeq: number;
  readonly text: string;
}

/** What a claim needs to know of its session. */
export interface History {
  readonly metadata: Readonly<Record<string, unknown>>;
  /**
   * Replaces the messages before the first of `messages`; null when nothing was
   * summarised, or the agent compacts nothing.
   */
  readonly summary: Summary | null;
  readonly messages: readonly PlacedMessage[];
  /** Of the continuation that this claim runs. */
  readonly decisions: readonly CallDecision[];
}

/** The row that `historyOfTurn` reads. */
export interface HistoryRow {
  /** The session's; null where no session was found beside a row that was. */
  metadata: Record<string, unknown> | null;
  uptoSeq: number | null;
  summary: string | null;
  /** The messages and, beside them, their places; null when only a small transcript was asked for and this is not. */
  transcript: { seqs: number[] | null; messages: UiMessage[] | null } | null;
  decisions: CallDecision[] | null;
}

/** Returns the history of a turn that has no session, or whose session does not exist any more. */
export function noHistory(metadata: Readonly<Record<string, unknown>> = {}): History {
  return { metadata, summary: null, messages: [], decisions: [] };
}

/** A transcript of this size at most is read by the claim itself, on the connection that all claims of a worker share. */
const smallMessagesMax = 50;
/** As Postgres keeps it, which may be compressed. */
const smallBytesMax = 128 * 1024;

/**
 * Returns the query of a session for the turn `t` in front of it: the session's metadata,
 * the transcript after the summary (up to `keep_seq` of a regeneration, which also
 * decides whether the summary still holds), and the decisions of a continuation.
 */
export function historyOfTurn(sql: AnySql, size: "small" | "any") {
  // Two lists, because to build an object for each of 2,000 messages took half of the query's time.
  const transcript = sql`(
        select json_build_object('seqs', json_agg(m.seq order by m.seq), 'messages', json_agg(m.content order by m.seq))
        from messages m
        where m.session_id = s.id and m.seq > coalesce(z.upto_seq, 0) and (t.keep_seq is null or m.seq <= t.keep_seq)
      )`;
  // The count is compared first, so that the sizes of only a few rows are ever summed.
  const small = sql`case when s.message_count > ${smallMessagesMax} then null
      when (select sum(pg_column_size(m.content)) from messages m where m.session_id = s.id) > ${smallBytesMax} then null
      else ${transcript} end`;
  return sql`
    select s.metadata, z.upto_seq, z.text as summary, ${size === "small" ? small : transcript} as transcript,
      coalesce((
        select json_agg(json_build_object('toolCallId', a.tool_call_id, 'approved', a.status = 'approved', 'reason', a.reason))
        from approvals a where a.continuation_id = t.continuation_id
      ), '[]') as decisions
    from sessions s
    left join agent_versions v on v.agent_id = s.agent_id and v.version = t.agent_version
    left join session_summaries z on z.session_id = s.id and (v.config ->> 'autoCompaction')::boolean
      and (t.keep_seq is null or z.upto_seq <= t.keep_seq)
    where s.id = t.session_id`;
}

/** Returns the history in a row of `historyOfTurn`; null when the row does not hold the transcript. */
export function historyOfRow({ metadata, transcript, decisions, uptoSeq, summary }: HistoryRow): History | null {
  if (metadata === null) return noHistory();
  if (transcript === null) return null;
  const { seqs, messages } = transcript;
  return {
    metadata,
    summary: uptoSeq === null || summary === null ? null : { uptoSeq: uptoSeq, text: summary },
    messages: (messages ?? []).map((message, index) => ({ seq: seqs?.[index] ?? null, message })),
    decisions: decisions ?? [],
  };
}

/** Reads the history of a claimed turn, whatever its size, in one query. */
export async function readHistory(sql: Sql, turnId: string): Promise<History> {
  const [row] = await sql<HistoryRow[]>`
    select h.* from turns t cross join lateral (${historyOfTurn(sql, "any")}) h where t.id = ${turnId}`;
  return (row === undefined ? null : historyOfRow(row)) ?? noHistory();
}
