import type postgres from "postgres";
import type { AnySql } from "../../kernel/database/client.ts";
import { ApiError, invalid } from "../../kernel/errors.ts";
import { type Page, readCursor, writeCursor } from "../../kernel/http/page.ts";
import { turnKinds } from "./turn.ts";
import { isMeant, listName, statusesOf, type TurnListQuery } from "./turn-list.ts";
import { isVisible, showTurn, type TurnView, type TurnViewRow, viewColumns } from "./turn-view.ts";

const dayMs = 24 * 60 * 60 * 1000;
/** Before it Postgres writes days otherwise. */
const earliestMs = Date.parse("0001-01-01T00:00:00Z");
/** The list of the longest turns looks at this many days at most. */
export const longestDaysMax = 31;

/**
 * Returns a page of a tenant's turns, the one first that ran longest: of those accepted from `from` on, the last day
 * when it is left out, and before `to`, now when that is. Throws 400 naming `from` where that is more than
 * `longestDaysMax` days, and 400 `invalid_cursor`.
 *
 * Of the turns that do not move, each day's are read in this order (`turns_longest`), so that no more of them are read
 * than a page has. Of the others a tenant has no more than its queue and the workers hold.
 */
export async function listLongest(sql: AnySql, tenantId: string, query: TurnListQuery): Promise<Page<TurnView>> {
  const { cursor, limit } = query;
  const list = listName("longest", query);
  const scan = { tenantId, query, span: spanOf(query), place: readPlace(list, cursor) };
  // What one of these filters means has an index, and is read whole and sorted: by the day, all turns of it would be read
  // for a rare one.
  const isFew = [query.sessionId, query.error, query.agentId, query.userId].some((filter) => filter !== undefined);
  const rows = await sql<TurnViewRow[]>`
    select /* turn.longest */ * from (
      ${isFew ? restingOfFew(sql, scan) : restingByDay(sql, scan)} union all ${movingTurns(sql, scan)}
    ) t where true ${beyond(sql, scan)} order by t.run_ms desc, t.id desc limit ${limit + 1}`;
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  const nextCursor = last === undefined ? null : writeCursor(list, [last.runMs, last.id]);
  return { data: shown.map(showTurn), nextCursor };
}

/** What the parts of the statement are made of. */
interface Scan {
  readonly tenantId: string;
  readonly query: TurnListQuery;
  readonly span: Span;
  readonly place: LongestPlace | null;
}

/** Returns the query of a page of each day. */
function restingByDay(sql: AnySql, scan: Scan): postgres.Fragment {
  return sql`
      select page.* from unnest(${daysOf(scan.span)}::text[]) days (day) cross join lateral (
        select ${viewColumns(sql)} from turns t
        where ${isOf(sql, scan)} and (t.accepted_at at time zone 'UTC')::date = days.day::date ${isIn(sql, scan)} ${isResting(sql, scan)} ${beyond(sql, scan)}
        order by t.run_ms desc, t.id desc limit ${scan.query.limit + 1}
      ) page`;
}

function restingOfFew(sql: AnySql, scan: Scan): postgres.Fragment {
  const { error, kind } = scan.query;
  const isFailed = error === undefined ? sql`` : sql`and t.status = 'failed'`;
  const ofKind = kind === undefined ? sql`and t.kind = any(${turnKinds as unknown as string[]}::text[])` : sql``;
  return sql`
      select ${viewColumns(sql)} from turns t where ${isOf(sql, scan)} ${isIn(sql, scan)} ${ofKind} ${isResting(sql, scan)} ${isFailed}`;
}

function movingTurns(sql: AnySql, scan: Scan): postgres.Fragment {
  const { moving } = statusesOf(scan.query);
  return sql`
      select ${viewColumns(sql)} from turns t
      where ${isOf(sql, scan)} ${isIn(sql, scan)} and t.status = any(${moving as string[]}::text[])
        and t.status in ('enqueued', 'queued', 'running') and ${isVisible(sql)}`;
}

function isOf(sql: AnySql, { tenantId, query }: Scan): postgres.Fragment {
  const { kind, sessionId } = query;
  return sql`${isMeant(sql, tenantId, query)} ${kind === undefined ? sql`` : sql`and t.kind = ${kind}`}
    ${sessionId === undefined ? sql`` : sql`and t.session_id = ${sessionId}`}`;
}

function isIn(sql: AnySql, { span }: Scan): postgres.Fragment {
  return sql`and t.accepted_at >= ${span.from} and t.accepted_at < ${span.to}`;
}

/** A partial index is used only where the statement itself says what it holds. */
function isResting(sql: AnySql, { query }: Scan): postgres.Fragment {
  const { resting } = statusesOf(query);
  return sql`and t.status in ('waiting', 'succeeded', 'failed', 'canceled') and t.status = any(${resting as string[]}::text[]) and ${isVisible(sql)}`;
}

function beyond(sql: AnySql, { place }: Scan): postgres.Fragment {
  return place === null ? sql`` : sql`and (t.run_ms, t.id) < (${place.runMs}, ${place.id})`;
}

/** A place in the list. */
interface LongestPlace {
  readonly runMs: number;
  readonly id: string;
}

function readPlace(list: string, cursor: string | undefined): LongestPlace | null {
  if (cursor === undefined) return null;
  const [runMs, id] = readCursor(list, cursor, 2);
  if (typeof runMs !== "number" || typeof id !== "string") throw new ApiError("invalid_cursor");
  return { runMs, id };
}

interface Span {
  readonly from: Date;
  readonly to: Date;
}

function spanOf({ from, to = new Date() }: TurnListQuery): Span {
  const span = { from: from ?? new Date(Math.max(earliestMs, to.getTime() - dayMs)), to };
  if (to.getTime() - span.from.getTime() > longestDaysMax * dayMs)
    throw invalid("from", `must be at most ${longestDaysMax} days before \`to\`, or before now`);
  return span;
}

/** Returns the days of a span by UTC, as Postgres reads them. */
function daysOf({ from, to }: Span): string[] {
  const days: string[] = [];
  for (let day = Math.floor(from.getTime() / dayMs); day * dayMs < to.getTime(); day++)
    days.push(new Date(day * dayMs).toISOString().slice(0, 10));
  return days;
}
