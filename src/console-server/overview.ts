import { type AgentIds, andOf } from "../kernel/auth/agent-scope.ts";
import type { Sql } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";

/** The turns that were accepted in one minute. */
interface Minute {
  /** Its beginning. */
  readonly at: Date;
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

/** What a tenant's turns did in the last hour, and what they do now. */
export interface TurnOverview {
  readonly from: Date;
  readonly to: Date;
  /** One for each minute, the oldest first; the last one is under way. */
  readonly minutes: readonly Minute[];
  readonly now: { readonly queued: number; readonly running: number; readonly waiting: number };
}

/** Minutes that an overview shows. */
const minutesShown = 60;

/** Returns a tenant's overview: one range of `turns_accepted`, and the unfinished turns. With 200,000 turns in the hour that takes 0.4 s. */
export async function readOverview(
  sql: Sql,
  tenantId: IdOf<"tenant">,
  agentIds: AgentIds = null,
): Promise<TurnOverview> {
  const ofAgents = andOf(sql, sql`agent_id`, agentIds);
  const [minutes, [now]] = await Promise.all([
    sql<Minute[]>`
      with minutes as (
        select generate_series(date_trunc('minute', now()) - make_interval(mins => ${minutesShown - 1}),
          date_trunc('minute', now()), interval '1 minute') as at
      ), counted as (
        select date_trunc('minute', accepted_at) as at, count(*)::int as accepted,
          count(*) filter (where status = 'succeeded')::int as succeeded,
          count(*) filter (where status = 'failed')::int as failed,
          count(*) filter (where status = 'canceled')::int as canceled,
          percentile_disc(array[0.5, 0.95]) within group (order by
            greatest(0, round(extract(epoch from first_text_at - coalesce(queued_at, accepted_at)) * 1000))::float8) as first_text_ms,
          sum(input_tokens)::float8 as input_tokens, sum(output_tokens)::float8 as output_tokens
        from turns
        where tenant_id = ${tenantId} and accepted_at >= (select min(at) from minutes) ${ofAgents}
        group by 1
      )
      select m.at, coalesce(accepted, 0) as accepted, coalesce(succeeded, 0) as succeeded, coalesce(failed, 0) as failed,
        coalesce(canceled, 0) as canceled, first_text_ms[1] as first_text_ms_p50, first_text_ms[2] as first_text_ms_p95,
        coalesce(input_tokens, 0) as input_tokens, coalesce(output_tokens, 0) as output_tokens
      from minutes m left join counted c on c.at = m.at order by m.at`,
    sql<TurnOverview["now"][]>`
      select count(*) filter (where status in ('enqueued', 'queued'))::int as queued,
        count(*) filter (where status = 'running')::int as running,
        count(*) filter (where status = 'waiting')::int as waiting
      from turns where tenant_id = ${tenantId} and status in ('enqueued', 'queued', 'running', 'waiting') ${ofAgents}`,
  ]);
  const from = minutes[0]?.at ?? new Date();
  const to = new Date(from.getTime() + minutesShown * 60_000);
  return { from, to, minutes, now: now ?? { queued: 0, running: 0, waiting: 0 } };
}

/** An overview is kept at least this long, and then for this many times as long as reading it took: polling pages of a busy tenant take a small share of one connection. */
const keptMsMin = 2_000;
const keptMsMax = 60_000;
const keptTimesTaken = 20;
/** Overviews that a process keeps. */
const keptMax = 1_000;

interface Kept {
  readonly overview: Promise<TurnOverview>;
  /** By `performance.now()`. */
  until: number;
}

/** The overviews that pages of this process have asked for lately. */
export class Overviews {
  readonly #kept = new Map<string, Kept>();

  /** Returns the overview of a tenant, or of some of its agents, by a name of which of these: the one that is kept or being read, else a new one. Throws what `read` throws. */
  read(whose: string, read: () => Promise<TurnOverview>): Promise<TurnOverview> {
    const startedAt = performance.now();
    const known = this.#kept.get(whose);
    if (known !== undefined && known.until > startedAt) return known.overview;
    const kept: Kept = { overview: read(), until: Number.POSITIVE_INFINITY };
    this.#kept.delete(whose);
    this.#kept.set(whose, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > keptMax && oldest !== undefined) this.#kept.delete(oldest);
    kept.overview.then(
      () => {
        const now = performance.now();
        kept.until = now + Math.min(keptMsMax, Math.max(keptMsMin, keptTimesTaken * (now - startedAt)));
      },
      () => {
        if (this.#kept.get(whose) === kept) this.#kept.delete(whose);
      },
    );
    return kept.overview;
  }
}
