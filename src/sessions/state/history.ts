import type postgres from "postgres";
import type { AnySql } from "../../kernel/database/client.ts";
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
  /** Whether messages that the summary does not stand for are missing before the first one, because the transcript is beyond `transcriptBytesMax` or `transcriptPartsMax`. */
  readonly isCut: boolean;
  /** Of the continuation that this claim runs. */
  readonly decisions: readonly CallDecision[];
}

/** A row of `historyOfTurn`. */
export interface HistoryRow {
  /** The session's; null where no session was found beside a row that was. */
  metadata: Record<string, unknown> | null;
  uptoSeq: number | null;
  summary: string | null;
  /** The messages and, beside them, their places; null where it is not small. */
  transcript: { seqs: number[] | null; messages: UiMessage[] | null } | null;
  decisions: CallDecision[] | null;
}

/** Returns the history of a turn that has no session, or whose session does not exist any more. */
export function noHistory(metadata: Readonly<Record<string, unknown>> = {}): History {
  return { metadata, summary: null, messages: [], isCut: false, decisions: [] };
}

/** A transcript of this size at most is read by the claim itself, on the connection that all claims of a worker share. */
const smallMessagesMax = 50;
/** The same in bytes of JSON. */
const smallBytesMax = 256 * 1024;
/**
 * Returns the query of a session for the turn `t` in front of it: the session's metadata,
 * the transcript after the summary (up to `keep_seq` of a regeneration, which also
 * decides whether the summary still holds), and the decisions of a continuation. A transcript
 * that is not small is null; `readHistory` reads it.
 */
export function historyOfTurn(sql: AnySql) {
  const read = sql`from messages m
        where m.session_id = s.id and m.seq > coalesce(z.upto_seq, 0) and (t.keep_seq is null or m.seq <= t.keep_seq)`;
  // The count is compared first, so that a claim sums the sizes of a few rows only.
  const small = sql`case when s.message_count > ${smallMessagesMax} then null when (select sum(m.bytes) ${read}) > ${smallBytesMax} then null
      else ${transcriptOf(sql, read)} end`;
  return sql`
    select s.metadata, z.upto_seq, z.text as summary, ${small} as transcript, ${decisionsOf(sql)} as decisions
    from sessions s ${withSummary(sql)}
    where s.id = t.session_id`;
}

/** Returns the SQL of the transcript that the rows `m` of a `from` are. */
export function transcriptOf(sql: AnySql, from: postgres.Fragment) {
  // Two lists, because to build an object for each of 2,000 messages took half of the query's time.
  return sql`(
        select json_build_object('seqs', json_agg(m.seq order by m.seq), 'messages', json_agg(m.content order by m.seq)) ${from}
      )`;
}

/** Returns the SQL of the decisions that the turn `t` goes on with. */
export function decisionsOf(sql: AnySql) {
  return sql`coalesce((
        select json_agg(json_build_object('toolCallId', a.tool_call_id, 'approved', a.status = 'approved', 'reason', a.reason))
        from approvals a where a.continuation_id = t.continuation_id
      ), '[]')`;
}

/** Returns joins of the summary `z` of the session `s` that the turn `t` may use. */
export function withSummary(sql: AnySql) {
  return sql`
    left join agent_versions v on v.agent_id = s.agent_id and v.version = t.agent_version
    left join session_summaries z on z.session_id = s.id and (v.config ->> 'autoCompaction')::boolean
      and (t.keep_seq is null or z.upto_seq <= t.keep_seq)`;
}

/** Returns the history in a row of `historyOfTurn`; null when the row does not hold the transcript. */
export function historyOfRow({ metadata, transcript, decisions, uptoSeq, summary }: HistoryRow): History | null {
  if (metadata === null) return noHistory();
  if (transcript === null) return null;
  return {
    metadata,
    summary: summaryOfRow(uptoSeq, summary),
    messages: placedMessages(transcript),
    isCut: false,
    decisions: decisions ?? [],
  };
}

/** Returns the summary that a row has; null where there is none. */
export function summaryOfRow(uptoSeq: number | null, text: string | null): Summary | null {
  return uptoSeq === null || text === null ? null : { uptoSeq, text };
}

/** Returns the messages of a row's transcript with their places. */
export function placedMessages({ seqs, messages }: NonNullable<HistoryRow["transcript"]>): PlacedMessage[] {
  return (messages ?? []).map((message, index) => ({ seq: seqs?.[index] ?? null, message }));
}
