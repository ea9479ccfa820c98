import type { Sql } from "../../kernel/database/client.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { transcriptBytesMax, transcriptPartsMax } from "../../kernel/limits.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { ClaimedTurn } from "../state/claimed-turn.ts";
import {
  decisionsOf,
  type History,
  type HistoryRow,
  noHistory,
  type PlacedMessage,
  placedMessages,
  summaryOfRow,
  transcriptOf,
  withSummary,
} from "../state/history.ts";
import { type CachedTranscript, TranscriptCache } from "./cache.ts";

/**
 * A transcript is read in pages of about this many bytes, so that no long step is needed to take it in. One
 * that is a single page is read without being divided: of 2,000 messages that takes 2.4 ms in place of 4.7.
 */
const pageBytes = 1024 * 1024;

/** Each worker's, by its pool. */
const caches = new WeakMap<Sql, TranscriptCache>();

interface LongRow extends HistoryRow {
  metadata: Record<string, unknown>;
  sessionId: string;
  keepSeq: number | null;
  continuationId: string | null;
  messageCount: number;
  /** Whether the cached messages are the session's, and `transcript` has only those after them. */
  isCached: boolean;
  /** The last message but one of those that were to be read, and the bytes of all up to it; null where there is none. */
  lastButOne: { seq: number; turnId: string; bytes: number } | null;
}

/**
 * Reads the history of a claimed turn, whatever its size. Of a transcript beyond
 * `transcriptBytesMax` or `transcriptPartsMax` the newest messages are read, beginning with a user's. The answer
 * that a continuation goes on with is always among them.
 *
 * What the worker read for the turn before is cached, and only what follows is read. Messages
 * come from this cache more than once, so nobody may change them.
 */
export async function readHistory(
  sql: Sql,
  { id, sessionId, tenantId }: Pick<ClaimedTurn, "id" | "sessionId" | "tenantId">,
): Promise<History> {
  const cache = caches.get(sql) ?? new TranscriptCache();
  caches.set(sql, cache);
  const cached = sessionId === null ? null : cache.get(sessionId);
  const row = await readRow(sql, id, cached);
  if (row === undefined) return noHistory();
  const before = row.isCached ? cached : null;
  // A rest that is more than a page is read with all that is before it.
  const pages =
    row.transcript === null ? await readPages(sql, row, row.uptoSeq ?? 0) : [{ ...row.transcript, whole: 0 }];
  const messages = [...(row.transcript === null ? [] : (before?.messages ?? [])), ...pages.flatMap(placedMessages)];
  const isBeyond = pages.some(({ whole }) => whole > transcriptBytesMax);
  // A regeneration reads a part of the transcript only, and leaves the cache as it is.
  if (row.keepSeq === null) {
    const next = isBeyond ? null : toCache({ ...row, tenantId }, messages, before);
    if (next === null) cache.delete(row.sessionId);
    else cache.set(row.sessionId, next);
  }
  const newest = withinParts(messages, row.continuationId !== null);
  const isCut = isBeyond || newest.length < messages.length;
  return {
    metadata: row.metadata,
    summary: summaryOfRow(row.uptoSeq, row.summary),
    messages: isCut ? fromFirstQuestion(newest, row.continuationId !== null) : messages,
    isCut,
    decisions: row.decisions ?? [],
  };
}

/**
 * Begins to read the history of a queued turn, where the transcript of its session is cached; null where it is not. All
 * that the turn needs was committed before it was queued, so it may be read while the turn is claimed: each takes
 * half a millisecond. Never rejects: null stands for what could not be read.
 */
export function readAhead(
  sql: Sql,
  { turnId, sessionId, tenantId }: { turnId: IdOf<"turn">; sessionId: IdOf<"session">; tenantId: IdOf<"tenant"> },
): Promise<History | null> | null {
  if ((caches.get(sql)?.get(sessionId) ?? null) === null) return null;
  return readHistory(sql, { id: turnId, sessionId, tenantId }).catch(() => null);
}

/**
 * Reads a session and, of its transcript, what follows the cached messages, or all of it where those are not
 * what the session has up to there any more. They are, if the last of them has its place still and no message up to it is
 * gone: a message comes to a place after all others, and leaves by being deleted, which `message_count` tells.
 * Only the last message of a transcript changes or moves, while its turn waits, and the last one is never cached.
 * One statement, so that check and messages are of one moment.
 */
async function readRow(sql: Sql, turnId: string, cached: CachedTranscript | null): Promise<LongRow | undefined> {
  const { afterSeq, uptoSeq, turnId: lastTurnId, count } = cached ?? notCached;
  const read = sql`from messages m where m.session_id = t.session_id and m.seq > t.after_seq and (t.keep_seq is null or m.seq <= t.keep_seq)`;
  // The parameters are a row: with their values Postgres thought each plan better than one for all, and planned for 0.6 ms each time.
  // The check is materialized, or each part that needs it would make it anew.
  const [row] = await sql<LongRow[]>`
    with /* history.read */ asked as materialized (
      select ${turnId}::text as id, ${afterSeq}::bigint as after_seq, ${uptoSeq}::bigint as upto_seq, ${lastTurnId}::text as turn_id, ${count}::int as count
    ), home as materialized (
      select s.metadata, s.message_count, z.upto_seq, z.text as summary, t.session_id, t.keep_seq, t.continuation_id, c.upto_seq as cached_seq,
        coalesce(coalesce(z.upto_seq, 0) = c.after_seq and (t.keep_seq is null or t.keep_seq >= c.upto_seq)
          and exists (select 1 from messages where session_id = s.id and seq = c.upto_seq and turn_id = c.turn_id)
          and s.message_count = c.count + (select count(*) from messages where session_id = s.id and seq > c.upto_seq), false) as is_cached
      from asked c join turns t on t.id = c.id join sessions s on s.id = t.session_id ${withSummary(sql)}
    ), start as materialized (
      select *, case when is_cached then cached_seq else coalesce(upto_seq, 0) end as after_seq from home
    )
    select t.*, ${decisionsOf(sql)} as decisions, case when size.whole > ${pageBytes} then null else ${transcriptOf(sql, read)} end as transcript,
      case when place.seq is not null then json_build_object('seq', place.seq, 'turnId', place.turn_id, 'bytes', size.upto) end as last_but_one
    from start t
    left join lateral (select m.seq, m.turn_id ${read} order by m.seq desc offset 1 limit 1) place on true
    cross join lateral (
      select coalesce(sum(m.bytes), 0) as whole, coalesce(sum(m.bytes) filter (where m.seq <= place.seq), 0) as upto ${read}
    ) size`;
  return row;
}

/** No session has what is cached so. */
const notCached = { afterSeq: null, uptoSeq: null, turnId: null, count: null };

/** Returns what is cached of messages that were just read: all but the last. `before` is what was cached of them; null is nothing. */
function toCache(
  { tenantId, lastButOne, uptoSeq, messageCount }: LongRow & { readonly tenantId: string },
  messages: readonly PlacedMessage[],
  before: CachedTranscript | null,
): CachedTranscript | null {
  if (lastButOne === null) return before;
  const { seq, turnId, bytes } = lastButOne;
  // Between the row and the pages of a large transcript a turn may have been erased.
  if (messages.at(-2)?.seq !== seq) return null;
  return {
    tenantId,
    afterSeq: uptoSeq ?? 0,
    uptoSeq: seq,
    turnId,
    count: messageCount - 1,
    messages: messages.slice(0, -1),
    bytes: (before?.bytes ?? 0) + bytes,
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
  { sessionId, keepSeq, continuationId }: LongRow,
  afterSeq: number,
): PromiseLike<TranscriptPage[]> {
  const extendsNewest = continuationId !== null && keepSeq === null;
  return sql<TranscriptPage[]>`
    select /* history.page */ json_agg(seq order by seq) as seqs, json_agg(content order by seq) as messages, max(whole) as whole
    from (
      select m.seq, m.content, m.bytes, sum(m.bytes) over (order by m.seq desc) as upto, sum(m.bytes) over () as whole
      from messages m
      where m.session_id = ${sessionId} and m.seq > ${afterSeq} ${keepSeq === null ? sql`` : sql`and m.seq <= ${keepSeq}`}
    ) newest
    where upto <= ${transcriptBytesMax} ${extendsNewest ? sql`or upto = bytes` : sql``}
    group by (upto - bytes) / ${pageBytes}
    order by min(seq)`;
}

/** Returns the newest messages that have at most `transcriptPartsMax` parts together. */
function withinParts(messages: readonly PlacedMessage[], keepsLast: boolean): readonly PlacedMessage[] {
  let from = messages.length;
  for (let parts = 0; from > 0; from--) {
    parts += (messages[from - 1] as PlacedMessage).message.parts.length;
    if (parts > transcriptPartsMax && !(keepsLast && from === messages.length)) break;
  }
  return from === 0 ? messages : messages.slice(from);
}

/** Returns the messages from the first one of a user on, as some providers demand; of a continuation at least its answer. */
function fromFirstQuestion(messages: readonly PlacedMessage[], keepsLast: boolean): readonly PlacedMessage[] {
  const first = messages.findIndex(({ message }) => message.role === "user");
  if (first >= 0) return messages.slice(first);
  return keepsLast ? messages.slice(-1) : [];
}
