import type { AnySql } from "../db.ts";

/** Rows that one statement adds up: 0.2 s of work, far below what a statement may take. */
const batchRows = 10_000;
/** Batches of one job. What is left after them, of a backlog, is for the next one. */
const batchesMax = 100;

/** The job `usage.sum`: adds ended turns to the sums by day, agent and model. Answers how many. */
export async function sumUsage(sql: AnySql, { rows = batchRows }: { readonly rows?: number } = {}): Promise<number> {
  let summed = 0;
  for (let batch = 0; batch < batchesMax; batch++) {
    const taken = await sumBatch(sql, rows);
    summed += taken;
    if (taken < rows) break;
  }
  return summed;
}

/**
 * Marks rows and adds them up in one statement, so that a reader counts each
 * either by its row or in its sum. Two workers take different rows, and come to
 * the sums in the same order.
 */
async function sumBatch(sql: AnySql, rowsMax: number): Promise<number> {
  const [row] = await sql<{ taken: number }[]>`
    with picked as materialized (
      select turn_id from usage where not summed limit ${rowsMax} for update skip locked
    ), taken as (
      update usage u set summed = true from picked where u.turn_id = picked.turn_id
      returning u.tenant_id, u.day, u.agent_id, u.provider, u.model, u.input_tokens, u.output_tokens, u.duration_ms
    ), added as (
      insert into usage_sums as s
        (tenant_id, day, agent_id, provider, model, turns, input_tokens, output_tokens, duration_ms)
      select tenant_id, day, agent_id, provider, model, count(*),
        sum(input_tokens)::bigint, sum(output_tokens)::bigint, sum(duration_ms)::bigint
      from taken group by tenant_id, day, agent_id, provider, model
      order by tenant_id, day, agent_id, coalesce(provider, ''), coalesce(model, '')
      on conflict (tenant_id, day, agent_id, (coalesce(provider, '')), (coalesce(model, ''))) do update set
        turns = s.turns + excluded.turns, input_tokens = s.input_tokens + excluded.input_tokens,
        output_tokens = s.output_tokens + excluded.output_tokens, duration_ms = s.duration_ms + excluded.duration_ms
    )
    select count(*)::int as taken from taken`;
  return row?.taken ?? 0;
}
