import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { Sql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";

/** How far back an overview goes, and how it is divided: seconds of a part, and parts. */
export const overviewRanges = {
  hour: { partSeconds: 60, parts: 60 },
  day: { partSeconds: 1_800, parts: 48 },
  week: { partSeconds: 7_200, parts: 84 },
} as const;
export type OverviewRange = keyof typeof overviewRanges;

/** What turns came to that were accepted in some time. */
interface TurnSums {
  readonly accepted: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly canceled: number;
  /** From when a turn was accepted, or left the line of its session, to the first text of its answer; null where there was none. */
  readonly firstTextMsP50: number | null;
  readonly firstTextMsP95: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** The turns that were accepted in one part of the range. */
interface Part extends TurnSums {
  /** Its beginning. */
  readonly at: Date;
}

/** How often turns of the range failed with an error. */
interface Cause {
  readonly code: string;
  readonly message: string;
  readonly count: number;
}

/** What a tenant's turns did in a range that ends now, and what they do now. */
export interface TurnOverview {
  readonly from: Date;
  readonly to: Date;
  /** The oldest first; the last one is under way. */
  readonly parts: readonly Part[];
  readonly whole: TurnSums;
  /** The time of the same length before. */
  readonly before: TurnSums;
  /** The most frequent first. */
  readonly causes: readonly Cause[];
  readonly now: {
    readonly queued: number;
    readonly running: number;
    readonly waiting: number;
    /** Since when the oldest turn waits for a person. */
    readonly waitingSince: Date | null;
  };
}

/** Causes of failures that are told apart. */
const causesMax = 8;
const causeCharactersMax = 200;

const noTurns: TurnSums = {
  ...{ accepted: 0, succeeded: 0, failed: 0, canceled: 0 },
  ...{ firstTextMsP50: null, firstTextMsP95: null, inputTokens: 0, outputTokens: 0 },
};

/** Returns a tenant's overview: two ranges of `turns_accepted`, one of `turns_failed`, and the unfinished turns. With 200,000 turns in the hour that takes some 0.5 s. */
export async function readOverview(
  sql: Sql,
  tenantId: IdOf<"tenant">,
  { range, agentIds }: { readonly range: OverviewRange; readonly agentIds: AgentIds },
): Promise<TurnOverview> {
  const { partSeconds, parts: count } = overviewRanges[range];
  const nowMs = Date.now();
  const to = new Date((Math.floor(nowMs / 1000 / partSeconds) + 1) * partSeconds * 1000);
  const from = new Date(to.getTime() - count * partSeconds * 1000);
  const earlier = new Date(from.getTime() - count * partSeconds * 1000);
  const ofAgents = andOf(sql, sql`agent_id`, agentIds);
  const sums = sql`count(*)::int as accepted,
    count(*) filter (where status = 'succeeded')::int as succeeded,
    count(*) filter (where status = 'failed')::int as failed,
    count(*) filter (where status = 'canceled')::int as canceled,
    ${percentile(sql, 0.5)} as first_text_ms_p50, ${percentile(sql, 0.95)} as first_text_ms_p95,
    coalesce(sum(input_tokens), 0)::float8 as input_tokens, coalesce(sum(output_tokens), 0)::float8 as output_tokens`;
  const [filled, wholes, causes, [now]] = await Promise.all([
    sql<(Part & { part: number })[]>`
      select floor(extract(epoch from accepted_at - ${from}) / ${partSeconds}::int)::int as part, ${sums}
      from turns where tenant_id = ${tenantId} and accepted_at >= ${from} ${ofAgents} group by 1`,
    sql<(TurnSums & { isBefore: boolean })[]>`
      select accepted_at < ${from} as is_before, ${sums}
      from turns where tenant_id = ${tenantId} and accepted_at >= ${earlier} ${ofAgents} group by 1`,
    sql<Cause[]>`
      select error ->> 'code' as code, left(coalesce(error ->> 'message', ''), ${causeCharactersMax}) as message, count(*)::int as count from turns
      where tenant_id = ${tenantId} and status = 'failed' and error ->> 'code' is not null and accepted_at >= ${from} ${ofAgents}
      group by 1, 2 order by 3 desc, 1, 2 limit ${causesMax}`,
    sql<TurnOverview["now"][]>`
      select count(*) filter (where status in ('enqueued', 'queued'))::int as queued,
        count(*) filter (where status = 'running')::int as running,
        count(*) filter (where status = 'waiting')::int as waiting,
        min(accepted_at) filter (where status = 'waiting') as waiting_since
      from turns where tenant_id = ${tenantId} and status in ('enqueued', 'queued', 'running', 'waiting') ${ofAgents}`,
  ]);
  const byPart = new Map(filled.map(({ part, ...rest }) => [part, rest]));
  const parts = Array.from({ length: count }, (_, at) => ({
    ...(byPart.get(at) ?? noTurns),
    at: new Date(from.getTime() + at * partSeconds * 1000),
  }));
  const wholeOf = (isBefore: boolean): TurnSums => {
    const { isBefore: _, ...found } = wholes.find((one) => one.isBefore === isBefore) ?? { ...noTurns, isBefore };
    return found;
  };
  return {
    ...{ from, to, parts, whole: wholeOf(false), before: wholeOf(true), causes },
    now: now ?? { queued: 0, running: 0, waiting: 0, waitingSince: null },
  };
}

/** The time to the first text that this share of the turns with one stays below. */
function percentile(sql: Sql, share: number) {
  return sql`percentile_disc(${share}::float8) within group (order by
    greatest(0, round(extract(epoch from first_text_at - coalesce(queued_at, accepted_at)) * 1000))::float8)
    filter (where first_text_at is not null)`;
}
