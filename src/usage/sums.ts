import type postgres from "postgres";
import type { AnySql } from "../kernel/database/client.ts";
import { parts } from "./counted.ts";

/**
 * Rows that one statement adds up: that takes a second under load when each row has
 * another user, far below a statement's time limit.
 */
const batchRows = 10_000;
/** Batches of one job. The rest of a backlog is left to the next job. */
const batchesMax = 100;

/**
 * The job `usage.sum`: adds ended turns to the sums, with and without users, and to the
 * totals of sessions. Returns how many turns.
 */
export async function sumUsage(sql: AnySql, { rows = batchRows }: { readonly rows?: number } = {}): Promise<number> {
  let summed = 0;
  const isUnsummed = sql`not summed or not user_summed or not session_summed`;
  // What a worker of the release before has added lacks its parts, which it does not know.
  for (const where of [isUnsummed, sql`summed and not parts_summed`])
    for (let batch = 0; batch < batchesMax; batch++) {
      const taken = await sumBatch(sql, where, rows);
      summed += taken;
      if (taken < rows) break;
    }
  return summed;
}

/**
 * Marks rows and adds them up in one statement, so that a reader counts each
 * either by its row or in its sum. Two workers take different rows, and lock the
 * sums in the same order: table by table, and in each by its key. A worker of an
 * earlier release does not know some of the sums: its rows then lack only these.
 *
 * The rows are marked where they were found. Joined by their key, all rows of the table were read for a few, until there
 * were some ten thousand. One that somebody else changed in between has another place, and is left to the next sums.
 */
async function sumBatch(sql: AnySql, where: postgres.Fragment, rowsMax: number): Promise<number> {
  const byUser = sql`tenant_id, day, user_id, agent_id`;
  const byAgent = sql`tenant_id, day, agent_id`;
  const [row] = await sql<{ taken: number }[]>`
    with picked as materialized (
      select ctid as row_at, turn_id, place, summed, user_summed, session_summed, parts_summed from usage where ${where}
      order by tenant_id, day limit ${rowsMax} for update skip locked
    ), marked as (
      update usage u set summed = true, user_summed = true, session_summed = true, parts_summed = true
      where ctid = any(array(select row_at from picked))
      returning u.turn_id, u.place, u.tenant_id, u.day, u.user_id, u.agent_id, u.session_id, u.provider, u.model, u.input_tokens,
        u.output_tokens, u.cached_input_tokens, u.cache_write_tokens, u.reasoning_tokens, u.cost_pico, u.cost_complete, u.duration_ms
    ), taken as materialized (
      select marked.*, picked.summed as was_summed, picked.user_summed as was_user_summed,
        picked.session_summed as was_session_summed, picked.parts_summed as were_parts_summed
      from marked join picked using (turn_id, place)
    ), added as (${add(sql, sql`usage_sums`, byAgent, sql`not was_summed`)}
    ), added_by_user as (${add(sql, sql`usage_user_sums`, byUser, sql`not was_user_summed`)}
    ), added_by_session as (
      insert into usage_session_tokens as s (tenant_id, session_id, tokens)
      select tenant_id, session_id, sum(input_tokens + output_tokens)::bigint
      from taken where not was_session_summed and session_id <> '' group by tenant_id, session_id
      order by tenant_id, session_id
      on conflict (tenant_id, session_id) do update set tokens = s.tokens + excluded.tokens
    )
    select count(*)::int as taken from taken`;
  return row?.taken ?? 0;
}

/** Returns the statement that adds the taken rows that `due` selects to the sums of a table. */
function add(sql: AnySql, table: postgres.Fragment, ids: postgres.Fragment, due: postgres.Fragment): postgres.Fragment {
  const lacksParts = sql`not were_parts_summed`;
  const sum = (column: string, of: postgres.Fragment) =>
    sql`coalesce(sum(${sql(column)}) filter (where ${of}), 0)::bigint`;
  return sql`
      insert into ${table} as s (${ids}, provider, model, turns, input_tokens, output_tokens, duration_ms, ${parts(sql)})
      select ${ids}, provider, model, count(*) filter (where place = 0 and ${due}),
        ${sum("input_tokens", due)}, ${sum("output_tokens", due)}, ${sum("duration_ms", due)},
        ${sum("cached_input_tokens", lacksParts)}, ${sum("cache_write_tokens", lacksParts)}, ${sum("reasoning_tokens", lacksParts)},
        sum(cost_pico) filter (where ${lacksParts}), bool_and(cost_complete)
      from taken where (${due}) or ${lacksParts} group by ${ids}, provider, model
      order by ${ids}, coalesce(provider, ''), coalesce(model, '')
      on conflict (${ids}, (coalesce(provider, '')), (coalesce(model, ''))) do update set
        turns = s.turns + excluded.turns, input_tokens = s.input_tokens + excluded.input_tokens,
        output_tokens = s.output_tokens + excluded.output_tokens, duration_ms = s.duration_ms + excluded.duration_ms,
        cached_input_tokens = s.cached_input_tokens + excluded.cached_input_tokens,
        cache_write_tokens = s.cache_write_tokens + excluded.cache_write_tokens,
        reasoning_tokens = s.reasoning_tokens + excluded.reasoning_tokens,
        cost_pico = coalesce(s.cost_pico + excluded.cost_pico, s.cost_pico, excluded.cost_pico),
        cost_complete = s.cost_complete and excluded.cost_complete`;
}
