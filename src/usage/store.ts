import type { AnySql } from "../kernel/database/client.ts";
import { counted, sums } from "./counted.ts";
import { largestSessions } from "./largest.ts";
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
  agentId?: string;
  sessionId?: string;
  userId?: string;
  provider?: string | null;
  model?: string | null;
  inputTokens: number;
  outputTokens: number;
  turns: number;
  durationMs: number;
  totalInputTokens: number;
  totalOutputTokens: number;
  totalTurns: number;
  totalDurationMs: number;
}

/**
 * Returns usage by group, and the totals over everything the filters select: days in
 * order, all other groups by tokens, most first. Ids of deleted or unknown resources
 * select what was metered under them, if anything. One statement, so that buckets and
 * totals are consistent.
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

function showBucket(row: BucketRow): UsageBucket {
  return {
    day: row.day?.toISOString().slice(0, "YYYY-MM-DD".length) ?? null,
    agentId: row.agentId ?? null,
    sessionId: row.sessionId ?? null,
    userId: row.userId ?? null,
    provider: row.provider ?? null,
    model: row.model ?? null,
    inputTokens: row.inputTokens,
    outputTokens: row.outputTokens,
    requestCount: row.turns,
    durationMs: row.durationMs,
  };
}

/** Every row carries the totals; without rows they are zero. */
function showTotals(row: BucketRow | undefined): UsageTotals {
  return {
    inputTokens: row?.totalInputTokens ?? 0,
    outputTokens: row?.totalOutputTokens ?? 0,
    requestCount: row?.totalTurns ?? 0,
    durationMs: row?.totalDurationMs ?? 0,
  };
}
