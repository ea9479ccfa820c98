import { byKeyOnly } from "../../kernel/database/by-key-only.ts";
import type { AnySql } from "../../kernel/database/client.ts";
import { statement } from "../../kernel/database/statement.ts";
import { addJobSql } from "../../kernel/queue/add-job.ts";
import { turnsEnded, turnsFailed } from "../../kernel/telemetry/metrics.ts";
import { dropWaiting, endContinuation } from "../state/continuation.ts";
import type { TurnKind } from "../state/turn.ts";
import { waitingTime } from "../state/turn-columns.ts";
import type { TurnOutcome } from "../state/turn-end.ts";
import {
  addAfterJob,
  addClaim,
  addLineJob,
  addWholeClaim,
  appendMessages,
  book,
  bytesAsked,
  extendAnswer,
  findEnding,
  grownBytes,
  spend,
} from "./end-parts.ts";
import { type Fence, plainColumns, wholeRow } from "./end-row.ts";

/**
 * The move *end* (`../state/turn.ts`): a turn's status, transcript, session, continuation, approvals, usage, credit and
 * what follows from it, as jobs, in one statement, so that all of it happens or none. It has two texts: `endPlain` for
 * what nearly every turn is, several at once; `endTurn` for any end, one by one.
 *
 * What follows: `turn.after` tells webhooks, the billing provider, the task's run and the chat; `session.next` starts the
 * session's next turn; `session.purge` erases a session that no one ever saw.
 */

/** The end of a plain claim: a message in a session was answered, by the agent's own model, without stopping to ask. */
export interface PlainEnd {
  readonly turnId: string;
  /** `plainRow` of it. */
  readonly row: string;
}

interface EndedRow {
  readonly id: string;
  readonly kind: TurnKind;
}

/**
 * Ends several plain claims in one statement, each behind its own fence. Returns the ids of those turns that ended; to each
 * of the others happened nothing: its claim is gone, its cancellation was asked for, or another transaction holds its
 * row or its session's, for which no other end waits.
 *
 * Postgres takes rows from JSON for a hundred, and assumes of a limit that it does not know that it lets a tenth through:
 * with two of them it plans for one row, and finds each by its key, also while it does not know yet how many rows the
 * tables have. So one plan is good for any number.
 */
export async function endPlain(sql: AnySql, ends: readonly PlainEnd[]): Promise<ReadonlySet<string>> {
  const ended = await endPlainClaims(sql, {}, ends);
  for (const { kind } of ended) countEnd(kind, "succeeded", null);
  return new Set(ended.map(({ id }) => id));
}

const endPlainClaims = statement<Record<never, never>, readonly PlainEnd[], EndedRow>((sql, given) => {
  const rows = given((ends) => `[${ends.map(({ row }) => row).join(",")}]`);
  const count = given((ends) => ends.length);
  return sql`
    with /* turn.end */ asked as materialized (
      select * from (
        select * from json_to_recordset(${rows}::text::json) as t(${plainColumns(sql)}) limit ${count}
      ) t limit ${count}
    ), home as materialized (
      select s.id, s.line from (select distinct session_id from asked order by session_id) a
      cross join lateral (select id, line from sessions where id = a.session_id for no key update skip locked) s
    ), was as materialized (
      select asked.*, home.line as home_line, t.* from home join asked on asked.session_id = home.id cross join lateral (
        select id, status as before from turns
        where id = asked.turn_id and attempt = asked.attempt and ${byKeyOnly(sql, sql`status`)} = 'running'
          and coalesce(claimed_at = asked.claim_at, true) and continuation_id is null and cancel_requested_at is null
        for no key update skip locked
      ) t
    ), ended as (
      update turns t set status = 'succeeded', error = null, finished_at = now(), ${addClaim(sql)}, answer = null,
        relay_events = was.new_relay_events, last_chunk = was.new_last_chunk
      from was where t.id = was.id
      returning t.id, t.kind, t.tenant_id, t.agent_id, t.session_id, t.user_id, t.metadata, t.run_ms, t.input_tokens, t.output_tokens,
        t.cached_input_tokens, t.cache_write_tokens, t.reasoning_tokens, t.cost_pico, t.cost_complete, t.usage_estimated, ${bytesAsked(sql)} as asked_bytes, was.before, was.home_line, was.new_messages, was.new_message_count,
        was.new_message_bytes, was.new_preview, was.new_provider, was.new_model, was.new_input_tokens, was.new_output_tokens, was.new_cost_pico
    ), forgotten as (
      delete from turn_checkpoints k using ended e where k.turn_id = e.id
    ), ${appendMessages(sql)}, session as (
      update sessions s set message_count = message_count + e.new_message_count, bytes = s.bytes + e.new_message_bytes + e.asked_bytes,
        visible = true, updated_at = now(), last_message_preview = e.new_preview
      from ended e where s.id = e.session_id
    ), used as (
      insert into usage (turn_id, tenant_id, agent_id, session_id, user_id, provider, model, input_tokens, output_tokens,
        cached_input_tokens, cache_write_tokens, reasoning_tokens, cost_pico, cost_complete, estimated, duration_ms, metadata, day)
      select id, tenant_id, agent_id, session_id, user_id, new_provider, new_model, input_tokens, output_tokens,
        cached_input_tokens, cache_write_tokens, reasoning_tokens, cost_pico,
        cost_complete and (cost_pico is not null or input_tokens + output_tokens = 0), usage_estimated,
        run_ms, metadata, (now() at time zone 'UTC')::date
      from ended
    ), ${book(sql)}, ${spend(sql)}, followed as (
      ${addAfterJob(sql)} union all ${addLineJob(sql)}
    )
    select id, kind, (select count(*) from followed) from ended`;
});

/**
 * Ends a turn in any way, by its worker or while no worker has it. Returns false, having written nothing, when the claim
 * is gone (docs/architecture.md, "One turn at a time"), or when a turn whose cancellation was asked for is to succeed.
 */
export async function endTurn(sql: AnySql, fence: Fence, outcome: TurnOutcome): Promise<boolean> {
  const [ended] = await sql<EndedRow[]>`
    with /* turn.end */ ${findEnding(sql, wholeRow(fence, outcome))}, ended as (
      update turns t set status = was.new_status, error = was.new_error, finished_at = now(), ${addWholeClaim(sql)}, usage_lost = was.new_usage_lost,
        waited_ms = waited_ms + case when was.before = 'waiting' then ${waitingTime(sql, "t")} else 0 end
      from was where t.id = was.id
      returning t.*, ${bytesAsked(sql)} as asked_bytes, ${ofRow(sql)}
    ), forgotten as (
      delete from turn_checkpoints k using ended e where k.turn_id = e.id
    ), removed as (
      -- Only an end that removes something has a place after which it does; of any other one nothing is read.
      delete from messages m using (
        select *, case when cuts then keep_seq when undoes and leg is not null then 0 end as after_seq from ended
      ) e
      where m.session_id = e.session_id and m.seq > e.after_seq and (e.cuts or m.turn_id = e.id)
      returning case when e.undoes and m.id = e.assistant_message_id then coalesce(e.said_bytes, m.bytes) else m.bytes end as bytes
    ), outgrown as (
      delete from session_summaries z using ended e
      where e.cuts and e.keep_seq is not null and z.session_id = e.session_id and z.upto_seq > e.keep_seq
    ), ${appendMessages(sql)}, ${extendAnswer(sql)}, session as (
      update sessions s set
        message_count = message_count + e.new_message_count - (select count(*) from removed),
        bytes = s.bytes + ${grownBytes(sql)} + e.asked_bytes - (select coalesce(sum(bytes), 0) from removed),
        visible = visible or e.shows,
        updated_at = case when e.shows then now() else updated_at end,
        deleted_at = case when e.shows or not ${isUseless(sql)} then deleted_at else now() end,
        line = s.line - case when e.before = 'enqueued' then 1 else 0 end,
        last_message_preview = coalesce(e.new_preview, last_message_preview)
      from ended e where s.id = e.session_id
      returning s.id, s.tenant_id, e.first_of_hidden_session and not s.visible and s.deleted_at is not null as is_useless
    ), ${endContinuation(sql)}, ${dropWaiting(sql)}, ${bookUsage(sql)}, ${book(sql)}, ${spend(sql)}, followed as (
      ${addAfterJob(sql)} union all ${addLineJob(sql)} union all ${purgeUseless(sql)}
    )
    select id, kind, (select count(*) from followed) from ended`;
  if (ended === undefined) return false;
  countEnd(ended.kind, outcome.status, outcome.error);
  return true;
}

/** The columns that the parts of `endTurn` and `askTurn` read of the row and of what the turn was before. */
export function ofRow(sql: AnySql) {
  return sql.unsafe(
    [
      ...["leg", "before", "home_line", "said_bytes", "is_good", "cuts", "undoes", "shows", "said_parts"],
      ...[
        "new_messages",
        "new_message_count",
        "new_message_bytes",
        "new_replaced",
        "new_replaced_bytes",
        "new_preview",
      ],
      ...["new_provider", "new_model", "new_input_tokens", "new_output_tokens", "new_cost_pico"],
      ...["new_error", "new_relay_events"],
      ...["new_last_chunk", "approvals", "client_calls"],
    ]
      .map((name) => `was.${name}`)
      .join(", "),
  );
}

/** Returns the condition that no one ever saw the session, and that nothing else is in it that could still be seen. */
function isUseless(sql: AnySql) {
  return sql`(e.first_of_hidden_session and not visible and s.line = case when e.before = 'enqueued' then 1 else 0 end and not exists (
          select 1 from turns o where o.session_id = s.id and o.id <> e.id and o.status in ('queued', 'running', 'waiting')))`;
}

/** Form A's session whose first turn failed is erased after this time, in seconds: by then its followers have read the end. */
const hiddenKeepSeconds = 30;

function purgeUseless(sql: AnySql) {
  return sql`select (${addJobSql(sql, "session.purge", { sessionId: sql`id`, tenantId: sql`tenant_id` }, { delaySeconds: hiddenKeepSeconds })}).id
      from session where is_useless`;
}

/**
 * Returns the CTE `used` that books what a turn used. Each model is booked by itself, with its `place`; the agent's own
 * has what is left of the turn's sums.
 *
 * No row can be there already: a turn is in `ended` only in the statement that moves it out of a state in which it has
 * not ended, and no move leads back into one (`../state/turn.ts`). An `on conflict` would cost 48 bytes of WAL a turn.
 */
function bookUsage(sql: AnySql) {
  return sql`used as (
      insert into usage (turn_id, place, tenant_id, agent_id, session_id, user_id, provider, model, input_tokens, output_tokens,
        cached_input_tokens, cache_write_tokens, reasoning_tokens, cost_pico, cost_complete, estimated, duration_ms, metadata, day)
      select e.id, models.place, e.tenant_id, e.agent_id, coalesce(e.session_id, ''), e.user_id, models.provider, models.model,
        models.input_tokens, models.output_tokens, models.cached_input_tokens, models.cache_write_tokens, models.reasoning_tokens,
        models.cost_pico, models.cost_complete and (models.cost_pico is not null or models.input_tokens + models.output_tokens = 0), models.estimated, case when models.place = 0 then e.run_ms else 0 end, e.metadata,
        (now() at time zone 'UTC')::date
      from ended e cross join lateral (
        select (row_number() over (order by first) - 1)::smallint as place, provider, model, input_tokens, output_tokens,
          cached_input_tokens, cache_write_tokens, reasoning_tokens, cost_pico, cost_complete, estimated
        from (
          select 0 as first, e.new_provider as provider, e.new_model as model,
            e.input_tokens - coalesce(sum((o ->> 'inputTokens')::bigint), 0) as input_tokens,
            e.output_tokens - coalesce(sum((o ->> 'outputTokens')::bigint), 0) as output_tokens,
            e.cached_input_tokens - coalesce(sum((o ->> 'cachedInputTokens')::bigint), 0) as cached_input_tokens,
            e.cache_write_tokens - coalesce(sum((o ->> 'cacheWriteTokens')::bigint), 0) as cache_write_tokens,
            e.reasoning_tokens - coalesce(sum((o ->> 'reasoningTokens')::bigint), 0) as reasoning_tokens,
            case when e.cost_complete or e.cost_pico > coalesce(sum((o ->> 'costPico')::bigint), 0)
              then e.cost_pico - coalesce(sum((o ->> 'costPico')::bigint), 0) end as cost_pico,
            -- Where the turn's cost is not complete, either this model's is not, or another one's.
            e.cost_complete or (bool_or((o ->> 'costComplete')::boolean is not true)
              and e.cost_pico > coalesce(sum((o ->> 'costPico')::bigint), 0)) as cost_complete, e.usage_estimated as estimated
          from jsonb_array_elements(e.model_usage) o
          union all
          select min(place), o ->> 'provider', o ->> 'model', sum((o ->> 'inputTokens')::bigint),
            sum((o ->> 'outputTokens')::bigint), coalesce(sum((o ->> 'cachedInputTokens')::bigint), 0),
            coalesce(sum((o ->> 'cacheWriteTokens')::bigint), 0), coalesce(sum((o ->> 'reasoningTokens')::bigint), 0),
            sum((o ->> 'costPico')::bigint), bool_and((o ->> 'costComplete')::boolean is true), bool_or((o ->> 'estimated')::boolean)
          from jsonb_array_elements(e.model_usage) with ordinality as others (o, place)
          group by 2, 3, o ->> 'providerType'
        ) each_model
        where first > 0 or e.model_usage is null or input_tokens + output_tokens > 0
      ) models
    )`;
}

function countEnd(kind: TurnKind, status: TurnOutcome["status"], error: TurnOutcome["error"]): void {
  turnsEnded.inc({ outcome: status, kind });
  if (status === "failed") turnsFailed.inc({ code: error?.code ?? "internal" });
}
