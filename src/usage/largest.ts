import type postgres from "postgres";
import type { AnySql, Tx } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import { conditions, counted, partSums, parts, summedRows, sums, unsummedRows } from "./counted.ts";
import type { UsageQuestion } from "./query.ts";
import { noTokens, type TokenCounts } from "./tokens.ts";

/** What a session used within a range. */
interface SessionRow extends Pick<TokenCounts, "inputTokens" | "outputTokens"> {
  sessionId: string;
  turns: number;
  durationMs: number;
}

/** The same with the parts of its tokens. They are read of those sessions only that are in the response: no index has them. */
interface WholeRow extends SessionRow, TokenCounts {
  costUsd: string | null;
  costComplete: boolean | null;
}

/** The totals of all sessions together: of at least one turn. */
interface TotalRow extends TotalCounts {
  totalTurns: number;
  totalDurationMs: number;
}

/** The totals of tokens. */
export type TotalCounts = { [Name in keyof TokenCounts as `total${Capitalize<Name>}`]: number } & {
  totalCostUsd: string | null;
  totalCostComplete: boolean;
};

/** How far a search for the largest sessions goes. */
export interface Reach {
  /** With at most this many turns within the range, all of them are read: about 20 ms. */
  readonly turnsMax: number;
  /** The same for the turns of an agent or a user, whose sessions may be few among all those that are examined. */
  readonly filteredTurnsMax: number;
  /** Sessions examined by each statement, one after the other, before all turns are read instead. */
  readonly steps: readonly number[];
}

/** Examining a session takes about 10 µs, so all steps together take as long as reading a million turns. */
const usualReach: Reach = { turnsMax: 20_000, filteredTurnsMax: 1_000_000, steps: [400, 1_600, 6_400, 25_600] };

/**
 * Returns the sessions that used most within a range, `question.limit` at most, most
 * first, each with the totals of all. There may be a million sessions, so the search goes
 * from the largest total down: no session used more within the range than in total, and
 * `usage_session_tokens` has them in that order.
 */
export async function largestSessions(
  sql: AnySql,
  tenantId: string,
  question: UsageQuestion,
  reach: Reach = usualReach,
): Promise<(WholeRow & TotalRow)[]> {
  const totals = await readTotals(sql, tenantId, question);
  if (totals === null) return [];
  const isFiltered =
    question.agentId !== undefined || (question.agentIds ?? null) !== null || question.userId !== undefined;
  const turnsMax = isFiltered ? reach.filteredTurnsMax : reach.turnsMax;
  if (question.sessionId !== undefined || totals.totalTurns <= turnsMax) return readAll(sql, tenantId, question);
  return tx(sql, async (inner) => {
    // One snapshot for the totals, for what is not summed, and for every step.
    await inner`set transaction isolation level repeatable read, read only`;
    return (await seek(inner, tenantId, question, reach)) ?? readAll(inner, tenantId, question);
  });
}

async function readTotals(sql: AnySql, tenantId: string, question: UsageQuestion): Promise<TotalRow | null> {
  const [row] = await sql<TotalRow[]>`${totalsOf(sql, tenantId, question)} having count(*) > 0`;
  return row ?? null;
}

function totalsOf(sql: AnySql, tenantId: string, question: UsageQuestion): postgres.Fragment {
  return sql`select ${sums(sql, "total_")}, ${partSums(sql, "total_")} from (${counted(sql, tenantId, question)}) counted`;
}

/**
 * Adds up every session by its summed turns; all sums are computed for the largest only, and for those that have more
 * turns: any other one used less than each of the largest. The totals come from the tables of sums, and are
 * materialized because they were seen to be computed anew for each session.
 */
function readAll(sql: AnySql, tenantId: string, question: UsageQuestion): Promise<(WholeRow & TotalRow)[]> {
  const mostSummed = sql`(
    select session_id from (${summedRows(sql, conditions(sql, tenantId, question))}) summed group by session_id
    order by sum(input_tokens + output_tokens) desc, session_id limit ${question.limit})`;
  return sql<(WholeRow & TotalRow)[]>`
    with totals as materialized (${totalsOf(sql, tenantId, question)}), ${buckets(sql, tenantId, question, mostSummed)},
      ${partsOfBuckets(sql, tenantId, question)}
    select * from buckets join parts using (session_id) cross join totals order by input_tokens + output_tokens desc, session_id`;
}

/**
 * Returns the CTE `buckets`: the largest among some sessions and all those with turns that are not summed yet. What
 * these used before is looked up session by session, however many Postgres expects: it cannot know how many are new.
 * `offset 0` keeps it from joining instead, because it plans what is within for itself then.
 */
function buckets(sql: AnySql, tenantId: string, question: UsageQuestion, some: postgres.Fragment): postgres.Fragment {
  const asked = conditions(sql, tenantId, question);
  return sql`
    unsummed as materialized (${unsummedRows(sql, asked)}), among as (
      select session_id from unsummed union ${some}
    ), buckets as (
      select session_id, ${sums(sql)} from (
        select before.* from among cross join lateral (
          select session_id, turns, input_tokens, output_tokens, duration_ms
          from (${summedRows(sql, sql`${asked} and session_id = among.session_id`)}) own offset 0) before
        union all select session_id, turns, input_tokens, output_tokens, duration_ms from unsummed
      ) counted group by session_id order by sum(input_tokens + output_tokens) desc, session_id limit ${question.limit}
    )`;
}

/** Returns the CTE `parts`: the sums of the parts of each session in `buckets`, from its own rows and from those in `unsummed`. */
function partsOfBuckets(sql: AnySql, tenantId: string, question: UsageQuestion): postgres.Fragment {
  const asked = conditions(sql, tenantId, question);
  return sql`
    parts as (
      select session_id, ${partSums(sql)} from (
        select before.* from buckets cross join lateral (
          select session_id, ${parts(sql)} from (${summedRows(sql, sql`${asked} and session_id = buckets.session_id`)}) own offset 0) before
        union all select session_id, ${parts(sql)} from unsummed where session_id in (select session_id from buckets)
      ) counted group by session_id
    )`;
}

/** Returns sessions with the parts of their tokens, in the order in which they come. */
async function withParts(
  sql: Tx,
  tenantId: string,
  question: UsageQuestion,
  found: readonly SessionRow[],
): Promise<WholeRow[]> {
  const rows = await sql<(TokenCounts & Pick<WholeRow, "sessionId" | "costUsd" | "costComplete">)[]>`
    with unsummed as materialized (${unsummedRows(sql, conditions(sql, tenantId, question))}), buckets as (
      select unnest(${found.map(({ sessionId }) => sessionId)}::text[]) as session_id
    ), ${partsOfBuckets(sql, tenantId, question)}
    select * from parts`;
  const partsOf = new Map(rows.map((row) => [row.sessionId, row]));
  return found.map((session) => ({
    ...noTokens,
    costUsd: null,
    costComplete: null,
    ...partsOf.get(session.sessionId),
    ...session,
  }));
}

/** The last session of a step. */
interface LastSession {
  readonly tokens: number;
  readonly sessionId: string;
}

/**
 * Examines sessions in the order of their totals, until those left cannot be larger
 * than those found; null when they still might be after the last step.
 */
async function seek(
  sql: Tx,
  tenantId: string,
  question: UsageQuestion,
  { steps }: Reach,
): Promise<(WholeRow & TotalRow)[] | null> {
  const totals = await readTotals(sql, tenantId, question);
  if (totals === null) return [];
  // Sessions whose totals are not complete yet, and the stateless turns, which have no session. Of such a session a
  // step sees a part only, which never brings it in: it is found already, or the limit is full of larger ones.
  let found = await readUnordered(sql, tenantId, question);
  let last: LastSession | null = null;
  for (const step of steps) {
    const examined: Step = await examine(sql, tenantId, question, last, step);
    found = largestOf([...examined.sessions, ...found], question.limit);
    last = examined.last;
    if (last === null || examined.count < step || isComplete(found, last, question.limit))
      return (await withParts(sql, tenantId, question, found)).map((session) => ({ ...session, ...totals }));
  }
  return null;
}

function readUnordered(sql: Tx, tenantId: string, question: UsageQuestion): Promise<SessionRow[]> {
  return sql<SessionRow[]>`with ${buckets(sql, tenantId, question, sql`select ''`)} select * from buckets`;
}

interface Step {
  readonly sessions: readonly SessionRow[];
  readonly count: number;
  readonly last: LastSession | null;
}

/** Reads what the next sessions in the order used within the range by their summed turns; returns the largest of them. */
async function examine(
  sql: Tx,
  tenantId: string,
  question: UsageQuestion,
  after: LastSession | null,
  count: number,
): Promise<Step> {
  const further =
    after === null
      ? sql``
      : sql`and tokens <= ${after.tokens} and (tokens < ${after.tokens} or session_id > ${after.sessionId})`;
  const rows = await sql<(SessionRow & { looked: number; lastTokens: number; lastId: string })[]>`
    with next as materialized (
      select session_id, tokens from usage_session_tokens where tenant_id = ${tenantId} ${further}
      order by tokens desc, session_id limit ${count}
    ), used as (
      select next.session_id, within_range.* from next cross join lateral (
        select ${sums(sql)} from (${summedRows(sql, sql`${conditions(sql, tenantId, question)} and session_id = next.session_id`)}) summed
        having count(*) > 0) within_range
    ), ends as (
      select tokens as last_tokens, session_id as last_id, (select count(*) from next) as looked
      from next order by tokens, session_id desc limit 1
    )
    select * from ends left join used on true
    order by input_tokens + output_tokens desc nulls last, session_id limit ${question.limit}`;
  const [row] = rows;
  if (row === undefined) return { sessions: [], count: 0, last: null };
  return {
    sessions: rows.flatMap(({ looked: _looked, lastTokens, lastId, ...session }) =>
      session.sessionId === null ? [] : [session],
    ),
    count: row.looked,
    last: { tokens: row.lastTokens, sessionId: row.lastId },
  };
}

const tokensOf = ({ inputTokens, outputTokens }: SessionRow) => inputTokens + outputTokens;

/** Each session once, as it comes last, most tokens first, by id where they are equal. */
function largestOf(rows: readonly SessionRow[], limit: number): SessionRow[] {
  const sessions = [...new Map(rows.map((row) => [row.sessionId, row])).values()];
  return sessions.sort((a, b) => tokensOf(b) - tokensOf(a) || (a.sessionId < b.sessionId ? -1 : 1)).slice(0, limit);
}

/** Returns whether the last of those found comes before any that is not examined yet, whatever that one used. */
function isComplete(found: readonly SessionRow[], last: LastSession, limit: number): boolean {
  const least = found[limit - 1];
  if (least === undefined) return false;
  const more = tokensOf(least) - last.tokens;
  return more > 0 || (more === 0 && least.sessionId <= last.sessionId);
}
