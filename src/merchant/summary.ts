import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { invalid } from "../kernel/errors.ts";
import { summaryDaysDefault, summaryDaysMax, type UsageEventStatus, usageEventStatuses } from "./schema.ts";

/** One UTC day: how much of its usage was accepted, and how much waits. */
export interface SummaryDay {
  /** YYYY-MM-DD. */
  readonly day: string;
  readonly acceptedEvents: number;
  readonly acceptedTokens: number;
  readonly pendingEvents: number;
}

/** A summary of a tenant's usage events. */
export interface UsageEventSummary {
  /** Of all time; every status has a count. */
  readonly counts: Readonly<Record<UsageEventStatus, number>>;
  readonly lastAcceptedAt: string | null;
  /** When the oldest pending event occurred. */
  readonly oldestPendingAt: string | null;
  /** Oldest day first, today last, also days without events. */
  readonly series: readonly SummaryDay[];
}

/** Reads the `days` query field. Throws 400 that names it. */
export function readDays(days: string | undefined): number {
  if (days === undefined) return summaryDaysDefault;
  const number = /^\d{1,3}$/.test(days) ? Number(days) : 0;
  if (number < 1 || number > summaryDaysMax)
    throw invalid("days", `must be a whole number from 1 to ${summaryDaysMax}`);
  return number;
}

/** Whose events are meant: a tenant's, or those of some of its agents. */
interface Whose {
  readonly tenantId: string;
  readonly agentIds: AgentIds;
}

/** `GET /v1/merchant-usage-events/summary`, over all the tenant's connections. */
export async function summarizeUsageEvents(sql: AnySql, whose: Whose, days: number): Promise<UsageEventSummary> {
  // One after the other: a report has one connection.
  const counts = await readCounts(sql, whose);
  const series = await readSeries(sql, whose, days);
  const countOf = new Map(counts.map((row) => [row.status, row]));
  return {
    counts: Object.fromEntries(
      usageEventStatuses.map((status) => [status, countOf.get(status)?.events ?? 0]),
    ) as Record<UsageEventStatus, number>,
    lastAcceptedAt: countOf.get("accepted")?.lastAcceptedAt?.toISOString() ?? null,
    oldestPendingAt: countOf.get("pending")?.oldestAt?.toISOString() ?? null,
    series,
  };
}

function readCounts(sql: AnySql, { tenantId, agentIds }: Whose) {
  return sql<{ status: UsageEventStatus; events: number; lastAcceptedAt: Date | null; oldestAt: Date | null }[]>`
    select status, count(*)::int as events, max(accepted_at) as last_accepted_at, min(occurred_at) as oldest_at
    from merchant_events where tenant_id = ${tenantId} ${andOf(sql, sql`agent_id`, agentIds)} group by status`;
}

/** A day's events are those whose usage occurred on it, so that accepted and pending add up. */
function readSeries(sql: AnySql, { tenantId, agentIds }: Whose, days: number) {
  return sql<SummaryDay[]>`
    with today as (select (now() at time zone 'UTC')::date as day),
    days as (select (today.day - back)::date as day from today, generate_series(${days}::int - 1, 0, -1) as back),
    sums as (
      select (occurred_at at time zone 'UTC')::date as day,
        count(*) filter (where status = 'accepted') as accepted,
        sum(input_tokens + output_tokens) filter (where status = 'accepted') as tokens,
        count(*) filter (where status = 'pending') as pending
      from merchant_events
      where tenant_id = ${tenantId} and status in ('accepted', 'pending') ${andOf(sql, sql`agent_id`, agentIds)}
        and occurred_at >= ((select min(day) from days)::timestamp at time zone 'UTC')
      group by 1
    )
    select to_char(days.day, 'YYYY-MM-DD') as day, coalesce(sums.accepted, 0)::bigint as accepted_events,
      coalesce(sums.tokens, 0)::bigint as accepted_tokens, coalesce(sums.pending, 0)::bigint as pending_events
    from days left join sums using (day) order by days.day`;
}
