import type { AnySql } from "../db.ts";
import type { UsageQuestion } from "./query.ts";
import { type UsageBucket, type UsageGroup, type UsageTotals, usageBucketsMax } from "./schema.ts";

/** The columns that make a group. */
const keyColumns: Readonly<Record<UsageGroup, readonly string[]>> = {
  day: ["day"],
  agent: ["agent_id"],
  model: ["provider", "model"],
  session: ["session_id"],
  user: ["user_id"],
};

interface BucketRow {
  day?: Date;
  agent_id?: string;
  session_id?: string;
  user_id?: string;
  provider?: string | null;
  model?: string | null;
  input_tokens: number;
  output_tokens: number;
  turns: number;
  duration_ms: number;
  total_input_tokens: number;
  total_output_tokens: number;
  total_turns: number;
  total_duration_ms: number;
}

/**
 * Usage by group, and over everything the filters select: days in order, all
 * else by tokens, most first. Ids that name nothing (any more) select what was
 * metered under them, maybe nothing. One statement, so that buckets and totals
 * tell of the same moment.
 */
export async function readUsage(
  sql: AnySql,
  tenantId: string,
  question: UsageQuestion,
): Promise<{ buckets: UsageBucket[]; totals: UsageTotals }> {
  const rows = await (question.groupBy === "session"
    ? largestSessions(sql, tenantId, question)
    : allBuckets(sql, tenantId, question));
  return { buckets: rows.map(showBucket), totals: showTotals(rows[0]) };
}

function allBuckets(sql: AnySql, tenantId: string, question: UsageQuestion) {
  const { groupBy } = question;
  const key = () => sql(keyColumns[groupBy] as string[]);
  return sql<BucketRow[]>`
    with buckets as (
      select ${key()}, ${sums(sql)} from (${counted(sql, tenantId, question)}) counted group by ${key()}
    )
    select *, sum(turns) over ()::bigint as total_turns, sum(input_tokens) over ()::bigint as total_input_tokens,
      sum(output_tokens) over ()::bigint as total_output_tokens, sum(duration_ms) over ()::bigint as total_duration_ms
    from buckets
    order by ${groupBy === "day" ? sql`` : sql`input_tokens + output_tokens desc,`} ${key()}
    limit ${usageBucketsMax}`;
}

/**
 * There may be a million sessions and a page of them is wanted: the largest are
 * found by one sum, only theirs are made whole, and the totals come by the
 * shorter way. Half the time of adding up everything for each session.
 */
function largestSessions(sql: AnySql, tenantId: string, question: UsageQuestion) {
  const asked = conditions(sql, tenantId, question);
  return sql<BucketRow[]>`
    with totals as (
      select ${sums(sql, "total_")} from (${counted(sql, tenantId, question)}) counted
    ), largest as (
      select session_id from usage where ${asked} group by session_id
      order by sum(input_tokens + output_tokens) desc, session_id limit ${question.limit}
    ), buckets as (
      select session_id, ${sums(sql)} from (select *, 1 as turns from usage) counted
      where ${asked} and session_id in (select session_id from largest) group by session_id
    )
    select * from buckets cross join totals order by input_tokens + output_tokens desc, session_id`;
}

function sums(sql: AnySql, prefix: "" | "total_" = "") {
  const sum = (column: string) => sql`sum(${sql(column)})::bigint as ${sql(`${prefix}${column}`)}`;
  return sql`${sum("turns")}, ${sum("input_tokens")}, ${sum("output_tokens")}, ${sum("duration_ms")}`;
}

function conditions(sql: AnySql, tenantId: string, { from, to, agentId, sessionId, userId }: UsageQuestion) {
  return sql`
    tenant_id = ${tenantId} and day between ${from}::date and ${to}::date
      ${agentId === undefined ? sql`` : sql`and agent_id = ${agentId}`}
      ${sessionId === undefined ? sql`` : sql`and session_id = ${sessionId}`}
      ${userId === undefined ? sql`` : sql`and user_id = ${userId}`}`;
}

/**
 * What is to be added up. Sums are kept of days, agents and models, by user and
 * without; none of sessions, for there are almost as many as turns. What is not
 * summed yet counts by its own row, in the same statement; as a number of the sums'
 * own type, because Postgres reads a union in parallel only when its types agree.
 */
function counted(sql: AnySql, tenantId: string, question: UsageQuestion) {
  const asked = conditions(sql, tenantId, question);
  const numbers = sql`input_tokens, output_tokens, duration_ms`;
  const columns = sql`day, user_id, agent_id, provider, model`;
  if (question.sessionId !== undefined) return sql`select ${columns}, 1 as turns, ${numbers} from usage where ${asked}`;
  if (question.groupBy === "user" || question.userId !== undefined)
    return sql`
      select ${columns}, turns, ${numbers} from usage_user_sums where ${asked} ${eachDay(sql, question)}
      union all
      select ${columns}, 1::bigint, ${numbers} from usage where not user_summed and ${asked}`;
  const withoutUser = sql`day, agent_id, provider, model`;
  return sql`
    select ${withoutUser}, turns, ${numbers} from usage_sums where ${asked}
    union all
    select ${withoutUser}, 1::bigint, ${numbers} from usage where not summed and ${asked}`;
}

/** Names each day of the range, so that one user's sums are looked up in the index and not sought among all users'. */
function eachDay(sql: AnySql, { userId, from, to }: UsageQuestion) {
  if (userId === undefined) return sql``;
  return sql`and day = any(array(select ${from}::date + n from generate_series(0, ${to}::date - ${from}::date) n))`;
}

function showBucket(row: BucketRow): UsageBucket {
  return {
    day: row.day?.toISOString().slice(0, "YYYY-MM-DD".length) ?? null,
    agentId: row.agent_id ?? null,
    sessionId: row.session_id ?? null,
    userId: row.user_id ?? null,
    provider: row.provider ?? null,
    model: row.model ?? null,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    requestCount: row.turns,
    durationMs: row.duration_ms,
  };
}

/** Every row carries the totals; without rows they are zero. */
function showTotals(row: BucketRow | undefined): UsageTotals {
  return {
    inputTokens: row?.total_input_tokens ?? 0,
    outputTokens: row?.total_output_tokens ?? 0,
    requestCount: row?.total_turns ?? 0,
    durationMs: row?.total_duration_ms ?? 0,
  };
}
