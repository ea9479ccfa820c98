import type { AnySql } from "../kernel/database/client.ts";
import { counted, partSums, sums } from "./counted.ts";
import { largestSessions, type TotalCounts } from "./largest.ts";
import type { UsageQuestion } from "./query.ts";
import { type UsageBucket, type UsageGroup, type UsageTotals, usageBucketsMax } from "./schema.ts";
import { showCost, type TokenCounts } from "./tokens.ts";

/** The columns that make a group. */
const keyColumns: Readonly<Record<UsageGroup, readonly string[]>> = {
  day: ["day"],
  agent: ["agent_id"],
  model: ["provider", "model"],
  session: ["session_id"],
  user: ["user_id"],
};

interface BucketRow extends TokenCounts, TotalCounts {
  costUsd: string | null;
  costComplete: boolean | null;
  day?: Date;
  agentId?: string;
  sessionId?: string;
  userId?: string;
  provider?: string | null;
  model?: string | null;
  turns: number;
  durationMs: number;
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
      select ${key()}, ${sums(sql)}, ${partSums(sql)}, sum(cost_pico) as cost_pico from (${counted(sql, tenantId, question)}) counted group by ${key()}
    )
    select * from buckets cross join (
      select ${sums(sql, "total_")}, ${partSums(sql, "total_")} from buckets
    ) totals
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
    cachedInputTokens: row.cachedInputTokens,
    cacheWriteTokens: row.cacheWriteTokens,
    reasoningTokens: row.reasoningTokens,
    ...showCost(row),
    requestCount: row.turns,
    durationMs: row.durationMs,
  };
}

/** Every row carries the totals; without rows they are zero. */
function showTotals(row: BucketRow | undefined): UsageTotals {
  const [inputTokens, outputTokens] = [row?.totalInputTokens ?? 0, row?.totalOutputTokens ?? 0];
  const cost = { costUsd: row?.totalCostUsd ?? null, costComplete: row?.totalCostComplete ?? null };
  return {
    inputTokens,
    outputTokens,
    cachedInputTokens: row?.totalCachedInputTokens ?? 0,
    cacheWriteTokens: row?.totalCacheWriteTokens ?? 0,
    reasoningTokens: row?.totalReasoningTokens ?? 0,
    ...showCost({ ...cost, inputTokens, outputTokens }),
    requestCount: row?.totalTurns ?? 0,
    durationMs: row?.totalDurationMs ?? 0,
  };
}
