import type postgres from "postgres";
import type { AnySql } from "../../kernel/database/client.ts";

/** The model that a claim used, as expressions of type text. */
export interface UsedModel {
  readonly provider: postgres.Fragment;
  readonly providerType: postgres.Fragment;
  readonly model: postgres.Fragment;
}

/**
 * Returns the CTE `used` that books what a turn used, after the CTE `ended`, with the turn's
 * columns. Where other models than the agent's own may have answered (`splits`), each is
 * booked by itself: the CTE `booked` has a row of each model that used something, with its
 * `place`; the agent's own has what is left of the turn's sums.
 *
 * No row can be there already: a turn is in `ended` only in the statement that moves it out of a state in which it has
 * not ended, and no move leads back into one (`state/turn.ts`). An `on conflict` would cost 48 bytes of WAL a turn.
 */
export function bookUsage(sql: AnySql, { provider, providerType, model }: UsedModel, splits: boolean) {
  if (!splits)
    return sql`used as (
      insert into usage (turn_id, tenant_id, agent_id, session_id, user_id, provider, model, input_tokens, output_tokens, estimated, duration_ms, metadata, day)
      select id, tenant_id, agent_id, coalesce(session_id, ''), user_id, ${provider}, ${model},
        input_tokens, output_tokens, usage_estimated, run_ms, metadata, (now() at time zone 'UTC')::date
      from ended
    )`;
  return sql`booked as (
      select e.id, e.tenant_id, e.agent_id, e.agent_version, e.session_id, e.user_id, e.status, e.accepted_at, e.metadata, e.run_ms, models.*
      from ended e cross join lateral (
        select (row_number() over (order by first) - 1)::smallint as place, used_provider, used_type, used_model,
          input_tokens, output_tokens, estimated
        from (
          select 0 as first, ${provider} as used_provider, ${providerType} as used_type, ${model} as used_model,
            e.input_tokens - coalesce(sum((o ->> 'inputTokens')::bigint), 0) as input_tokens,
            e.output_tokens - coalesce(sum((o ->> 'outputTokens')::bigint), 0) as output_tokens, e.usage_estimated as estimated
          from jsonb_array_elements(e.model_usage) o
          union all
          select min(place), o ->> 'provider', o ->> 'providerType', o ->> 'model',
            sum((o ->> 'inputTokens')::bigint), sum((o ->> 'outputTokens')::bigint), bool_or((o ->> 'estimated')::boolean)
          from jsonb_array_elements(e.model_usage) with ordinality as others (o, place)
          group by 2, 3, 4
        ) each_model
        where first > 0 or e.model_usage is null or input_tokens + output_tokens > 0
      ) models
    ), used as (
      insert into usage (turn_id, place, tenant_id, agent_id, session_id, user_id, provider, model, input_tokens, output_tokens, estimated, duration_ms, metadata, day)
      select id, place, tenant_id, agent_id, coalesce(session_id, ''), user_id, used_provider, used_model,
        input_tokens, output_tokens, estimated, case when place = 0 then run_ms else 0 end, metadata, (now() at time zone 'UTC')::date
      from booked
    )`;
}
