import type { AnySql, Sql } from "../../kernel/database/client.ts";
import { transcriptBytesMax } from "../../kernel/limits.ts";
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
  /** Whether messages that the summary does not stand for are missing before the first one, because the transcript is beyond `transcriptBytesMax`. */
  readonly isCut: boolean;
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
  return { metadata, summary: null, messages: [], isCut: false, decisions: [] };
}

/** A transcript of this size at most is read by the claim itself, on the connection that all claims of a worker share. */
const smallMessagesMax = 50;
/** The same in bytes of JSON. */
const smallBytesMax = 256 * 1024;
/**
 * A transcript that is not small is read in pages of about this many bytes, so that no long step is needed to take it in. One
 * that is a single page is read without being divided: of 2,000 messages that takes 2.4 ms in place of 4.7.
 */
const pageBytes = 1024 * 1024;

/**
 * Returns the query of a session for the turn `t` in front of it: the session's metadata,
 * the transcript after the summary (up to `keep_seq` of a regeneration, which also
 * decides whether the summary still holds), and the decisions of a continuation. A transcript
 * that is not `small`, or that is more than a `page`, is null.
 */
export function historyOfTurn(sql: AnySql, size: "small" | "page") {
  const read = sql`from messages m
        where m.session_id = s.id and m.seq > coalesce(z.upto_seq, 0) and (t.keep_seq is null or m.seq <= t.keep_seq)`;
  // Two lists, because to build an object for each of 2,000 messages took half of the query's time.
  const transcript = sql`(
        select json_build_object('seqs', json_agg(m.seq order by m.seq), 'messages', json_agg(m.content order by m.seq)) ${read}
      )`;
  // The count is compared first, so that a claim sums the sizes of a few rows only.
  const isMany = size === "small" ? sql`s.message_count > ${smallMessagesMax}` : sql`false`;
  const bytesMax = size === "small" ? smallBytesMax : pageBytes;
  const known = sql`case when ${isMany} then null when (select sum(m.bytes) ${read}) > ${bytesMax} then null else ${transcript} end`;
  return sql`
    select s.metadata, z.upto_seq, z.text as summary, ${known} as transcript,
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
  return {
    metadata,
    summary: summaryOfRow(uptoSeq, summary),
    messages: placed(transcript),
    isCut: false,
    decisions: decisions ?? [],
  };
}

function summaryOfRow(uptoSeq: number | null, text: string | null): Summary | null {
  return uptoSeq === null || text === null ? null : { uptoSeq, text };
}

function placed({ seqs, messages }: NonNullable<HistoryRow["transcript"]>): PlacedMessage[] {
  return (messages ?? []).map((message, index) => ({ seq: seqs?.[index] ?? null, message }));
}

/** What of a turn decides which messages it reads. */
interface ReadingTurn {
  sessionId: string | null;
  keepSeq: number | null;
  continuationId: string | null;
}

/**
 * Reads the history of a claimed turn, whatever its size. Of a transcript beyond
 * `transcriptBytesMax` the newest messages are read, beginning with a user's. The answer
 * that a continuation goes on with is always among them.
 */
export async function readHistory(sql: Sql, turnId: string): Promise<History> {
  const [row] = await sql<(HistoryRow & ReadingTurn)[]>`
    select h.*, t.session_id, t.keep_seq, t.continuation_id
    from turns t cross join lateral (${historyOfTurn(sql, "page")}) h where t.id = ${turnId}`;
  if (row === undefined || row.metadata === null) return noHistory();
  const known = historyOfRow(row);
  if (known !== null) return known;
  const { metadata, uptoSeq, summary, decisions } = row;
  const pages = await readPages(sql, row, uptoSeq ?? 0);
  const messages = pages.flatMap(placed);
  const isCut = pages.some(({ whole }) => whole > transcriptBytesMax);
  return {
    metadata,
    summary: summaryOfRow(uptoSeq, summary),
    messages: isCut ? fromFirstQuestion(messages, row.continuationId !== null) : messages,
    isCut,
    decisions: decisions ?? [],
  };
}

/** A part of a transcript; `whole` is the size of all of it, in bytes. */
interface TranscriptPage {
  seqs: number[] | null;
  messages: UiMessage[] | null;
  whole: number;
}

/**
 * Returns the newest messages that are within `transcriptBytesMax` together, in pages,
 * oldest first. The sizes are summed from a column, so nothing else of an older message
 * is read.
 */
function readPages(
  sql: Sql,
  { sessionId, keepSeq, continuationId }: ReadingTurn,
  afterSeq: number,
): PromiseLike<TranscriptPage[]> {
  const extendsNewest = continuationId !== null && keepSeq === null;
  return sql<TranscriptPage[]>`
    select json_agg(seq order by seq) as seqs, json_agg(content order by seq) as messages, max(whole) as whole
    from (
      select m.seq, m.content, m.bytes, sum(m.bytes) over (order by m.seq desc) as upto, sum(m.bytes) over () as whole
      from messages m
      where m.session_id = ${sessionId} and m.seq > ${afterSeq} ${keepSeq === null ? sql`` : sql`and m.seq <= ${keepSeq}`}
    ) newest
    where upto <= ${transcriptBytesMax} ${extendsNewest ? sql`or upto = bytes` : sql``}
    group by (upto - bytes) / ${pageBytes}
    order by min(seq)`;
}

/** Returns the messages from the first one of a user on, as some providers demand; of a continuation at least its answer. */
function fromFirstQuestion(messages: readonly PlacedMessage[], keepsLast: boolean): readonly PlacedMessage[] {
  const first = messages.findIndex(({ message }) => message.role === "user");
  if (first >= 0) return messages.slice(first);
  return keepsLast ? messages.slice(-1) : [];
}
