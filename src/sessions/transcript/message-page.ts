import { setImmediate } from "node:timers/promises";
import type postgres from "postgres";
import { tooMany } from "../../kernel/admission/too-many.ts";
import { SharedSlots } from "../../kernel/async/shared-slots.ts";
import type { AnySql } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";
import { readCursor, writeCursor } from "../../kernel/http/page.ts";
import { databaseWaitMs } from "../../kernel/limits.ts";

/**
 * Pages of transcripts. A message is stored as the text that `JSON.stringify` made of it, so a page is put together of these
 * bytes as they come from the database. Nothing of it is parsed, decoded or written anew.
 */
export interface MessagePage {
  /** The JSON of a message each, the oldest first. */
  readonly messages: readonly Uint8Array[];
  readonly nextCursor: string | null;
  /** Give it as `after` to get what is newer; null while the session holds nothing. */
  readonly latestCursor: string | null;
}

/**
 * A page of a transcript has at most this many bytes beside its largest message: an answer may
 * have 16 MiB, and a page 200 of them.
 */
const pageBytesMax = 4 * 1024 * 1024;
/** A page of more bytes is large: it is read in a place, and sent in pieces. */
export const largePageBytes = 1024 * 1024;
/**
 * Large pages that a process holds at once, of all tenants, and of them one of a tenant. A page has at most 20 MiB, and 28 more where
 * it has what is pending: so all of them together have at most 192 MiB.
 */
const largePagesMax = 4;
const largePagesPerTenantMax = 1;
const largePages = new SharedSlots(largePagesMax, largePagesPerTenantMax);
/** A large page that its reader has not taken after so long is cut off: it holds a place. */
const largePageSentMsMax = 60_000;
/** One piece of a large page is sent in a round of the event loop. */
const pieceBytes = 256 * 1024;

/**
 * Returns the response with a page; `more` are fields that follow those of the page. `read` gets whether it holds a place, and
 * returns null where it needs one because the page is large: it is called again in one, which is held until the response is sent.
 * Throws 429 `rate_limited` where no place is free within `databaseWaitMs`.
 */
export async function respondPage(
  tenantId: string,
  read: (inPlace: boolean) => Promise<MessagePage | null>,
  more: object = {},
): Promise<Response> {
  const small = await read(false);
  if (small !== null) return jsonResponse(Buffer.concat(piecesOf(small, more)));
  const release = await largePages.take(tenantId, AbortSignal.timeout(databaseWaitMs)).catch(() => {
    throw tooMany("The tenant reads too many large pages of messages at once.", largePagesPerTenantMax);
  });
  try {
    const page = await read(true);
    if (page === null) throw new Error("A page that is read in a place is never too large.");
    return jsonResponse(inPieces(piecesOf(page, more), release));
  } catch (error) {
    release();
    throw error;
  }
}

function jsonResponse(body: Buffer<ArrayBuffer> | ReadableStream<Uint8Array>): Response {
  return new Response(body, { headers: { "Content-Type": "application/json" } });
}

function piecesOf({ messages, nextCursor, latestCursor }: MessagePage, more: object): Uint8Array[] {
  const pieces: Uint8Array[] = [Buffer.from('{"data":[')];
  for (const [place, message] of messages.entries()) {
    if (place > 0) pieces.push(comma);
    pieces.push(message);
  }
  // The fields behind the list are written as those of an object that begins with them.
  pieces.push(Buffer.from(`],${JSON.stringify({ nextCursor, latestCursor, ...more }).slice(1)}`));
  return pieces;
}

const comma = Buffer.from(",");

/** Returns a body that is sent piece by piece, as its reader takes it; `onEnd` is called when it is sent or nobody wants it any more. */
function inPieces(whole: Uint8Array[], onEnd: () => void): ReadableStream<Uint8Array> {
  let pieces = whole;
  let place = 0;
  let from = 0;
  let late: NodeJS.Timeout | undefined;
  const end = () => {
    clearTimeout(late);
    pieces = [];
    onEnd();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        late = setTimeout(() => {
          end();
          controller.error(new Error("The page was not read in time."));
        }, largePageSentMsMax);
      },
      async pull(controller) {
        await setImmediate();
        const piece = pieces[place];
        if (piece === undefined) return;
        controller.enqueue(piece.subarray(from, from + pieceBytes));
        from += pieceBytes;
        if (from < piece.length) return;
        from = 0;
        place += 1;
        if (place < pieces.length) return;
        end();
        controller.close();
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

interface Reading {
  readonly limit: number;
  /** Whether it may be large; where not, null is returned in the place of a large page. */
  readonly inPlace: boolean;
}

/**
 * Returns the newest messages, or those older than `cursor`; within the page the oldest
 * first. With `keepSeq` those behind that place are left out; the cursors are the same.
 */
export async function messagesBefore(
  sql: AnySql,
  sessionId: string,
  cursor: string | undefined,
  { limit, inPlace, keepSeq = null }: Reading & { readonly keepSeq?: number | null },
): Promise<MessagePage | null> {
  const list = `messages:${sessionId}`;
  const place = cursor === undefined ? null : readPlaces(list, cursor, 2);
  const rows = await readMessages(sql, sessionId, {
    where: place === null ? sql`` : sql`and seq < ${place[0] as number}`,
    order: sql`seq desc`,
    rows: limit + 1,
    inPlace,
  });
  if (rows === null) return null;
  const shown = fitting(rows.slice(0, limit));
  // Older pages repeat the first page's newest place, so that `after` never skips messages that were added in between.
  const latest = place === null ? rows[0]?.seq : place[1];
  const oldest = shown.at(-1);
  const more = rows.length > shown.length && oldest !== undefined && latest !== undefined;
  return {
    messages: shown
      .filter(({ seq }) => keepSeq === null || seq <= keepSeq)
      .reverse()
      .map(({ content }) => content),
    nextCursor: more ? writeCursor(list, [oldest.seq, latest]) : null,
    latestCursor: latest === undefined ? null : writeCursor(`${list}:after`, [latest]),
  };
}

/** Returns the messages newer than a saved `latestCursor`, oldest first; when there are more than fit, follow `latestCursor`. */
export async function messagesAfter(
  sql: AnySql,
  sessionId: string,
  after: string,
  { limit, inPlace }: Reading,
): Promise<MessagePage | null> {
  const list = `messages:${sessionId}:after`;
  const [seq] = readPlaces(list, after, 1);
  const newer = { where: sql`and seq > ${seq as number}`, order: sql`seq`, rows: limit, inPlace };
  const rows = await readMessages(sql, sessionId, newer);
  if (rows === null) return null;
  const shown = fitting(rows);
  const latest = shown.at(-1)?.seq ?? (seq as number);
  return { messages: shown.map(({ content }) => content), nextCursor: null, latestCursor: writeCursor(list, [latest]) };
}

interface MessageRow {
  readonly seq: number;
  /** Null for the rows that a page has no room for. */
  readonly content: Uint8Array | null;
}

/**
 * Returns messages in an order, with the content of the first ones: as long as all of these but
 * the largest have at most `pageBytesMax` together; null where that is a large page and there is no place for it.
 * They are weighed by their stored size, which reads no content.
 */
async function readMessages(
  sql: AnySql,
  sessionId: string,
  { where, order, rows, inPlace }: { where: SqlPiece; order: SqlPiece; rows: number; inPlace: boolean },
): Promise<MessageRow[] | null> {
  const found = await sql`
    select /* message.page */ seq, fits, case when fits and (${inPlace} or page <= ${largePageBytes}) then content end as content from (
      select *, sum(bytes) filter (where fits) over () as page from (
        select seq, content, bytes,
          sum(bytes) over (order by ${order}) - max(bytes) over (order by ${order}) <= ${pageBytesMax} as fits
        from (select seq, content, bytes from messages where session_id = ${sessionId} ${where} order by ${order} limit ${rows}) as found
      ) as weighed
    ) as summed order by ${order}`.raw();
  const read: MessageRow[] = [];
  for (const [seq, fits, content] of found as unknown as (Buffer | null)[][]) {
    if (String(fits) === "t" && content == null) return null;
    read.push({ seq: Number(String(seq)), content: content ?? null });
  }
  return read;
}

/** A piece of a statement. */
type SqlPiece = postgres.PendingQuery<postgres.Row[]>;

type FullRow = MessageRow & { readonly content: Uint8Array };

/** Returns the rows before the first whose content was left out. */
function fitting(rows: readonly MessageRow[]): FullRow[] {
  const end = rows.findIndex((row) => row.content === null);
  return (end === -1 ? rows.slice() : rows.slice(0, end)) as FullRow[];
}

function readPlaces(list: string, cursor: string, length: number): number[] {
  const places = readCursor(list, cursor, length);
  if (!places.every((place) => typeof place === "number")) throw new ApiError("invalid_cursor");
  return places as number[];
}
