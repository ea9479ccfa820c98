import type { Sql } from "../../src/kernel/database/client.ts";

/** The sums of an earlier release: a worker of the first one knows those by day only. */
export type EarlierSums = "day" | "day and user";

/**
 * Adds up a tenant's turns as a worker of an earlier release does, which does not know what sums came later: those
 * without sums whose input tokens are few enough. Returns how many.
 */
export async function sumAsEarlier(sql: Sql, tenantId: string, kept: EarlierSums, inputMax: number): Promise<number> {
  const byAgent = sql`tenant_id, day, agent_id`;
  const byUser = sql`tenant_id, day, user_id, agent_id`;
  const [row] = await sql<{ taken: number }[]>`
    with taken as (
      update usage set summed = true ${kept === "day" ? sql`` : sql`, user_summed = true`}
      where tenant_id = ${tenantId} and not summed and not user_summed and input_tokens <= ${inputMax} returning *
    ), added as (${add("usage_sums", byAgent)})
    ${kept === "day" ? sql`` : sql`, added_by_user as (${add("usage_user_sums", byUser)})`}
    select count(*)::int as taken from taken`;
  return row?.taken ?? 0;

  function add(table: string, ids: typeof byAgent) {
    return sql`
      insert into ${sql(table)} as s (${ids}, provider, model, turns, input_tokens, output_tokens, duration_ms)
      select ${ids}, provider, model, count(*), sum(input_tokens), sum(output_tokens), sum(duration_ms)
      from taken group by ${ids}, provider, model
      on conflict (${ids}, (coalesce(provider, '')), (coalesce(model, ''))) do update set
        turns = s.turns + excluded.turns, input_tokens = s.input_tokens + excluded.input_tokens,
        output_tokens = s.output_tokens + excluded.output_tokens, duration_ms = s.duration_ms + excluded.duration_ms`;
  }
}
