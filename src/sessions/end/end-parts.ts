import { bookBudgets } from "../../budgets/book.ts";
import { askedBytes } from "../../kernel/admission/stored-bytes.ts";
import type { AnySql } from "../../kernel/database/client.ts";
import { addJobSql } from "../../kernel/queue/add-job.ts";
import { hasWebhooksFor } from "../../webhooks/events.ts";
import { addRunTime } from "../state/turn-columns.ts";
import { wholeColumns } from "./end-row.ts";

/** Parts of the statements that end a claim or let it stop to ask; each is the same in all of them. */

/**
 * Returns the CTEs that find and lock the turn of a `wholeRow`, where its fence matches: `asked` (the row), `home` (the
 * session), `was` (the row and the turn as it was; `leg` is the continuation that the claim ran, `said_bytes` what the
 * session counts of the answer that it goes on with).
 *
 * The session's row is locked before the turn's, as it is when a turn is accepted: in the opposite order, a turn that is
 * accepted while another one ends could deadlock with that end. That `was` asks for the number of `home` is what makes
 * Postgres run it first; the answer is always true.
 */
export function findEnding(sql: AnySql, row: string) {
  return sql`asked as materialized (
      select * from json_to_record(${row}::text::json) as t(${wholeColumns(sql)})
    ), home as materialized (
      select s.id, s.line from asked join turns t on t.id = asked.turn_id join sessions s on s.id = t.session_id
      for no key update of s
    ), was as materialized (
      select asked.*, t.* from asked cross join lateral (
        select id, continuation_id as leg, status as before, (select line from home) as home_line,
          (select said_bytes from continuations c where c.id = turns.continuation_id) as said_bytes
        from turns
        where id = asked.turn_id and attempt = asked.attempt and status = any(asked.statuses) and coalesce(claimed_at = asked.claim_at, true)
          and (cancel_requested_at is null or not asked.is_good) and (select count(*) from home) >= 0
        for no key update
      ) t
    )`;
}

/** Returns the assignments that add what a claim used and did; they read `was`. */
export function addClaim(sql: AnySql) {
  return sql`${addRunTime(sql)}, input_tokens = input_tokens + was.new_input_tokens,
        output_tokens = output_tokens + was.new_output_tokens,
        cached_input_tokens = cached_input_tokens + was.new_cached_input_tokens,
        cache_write_tokens = cache_write_tokens + was.new_cache_write_tokens,
        reasoning_tokens = reasoning_tokens + was.new_reasoning_tokens,
        cost_pico = coalesce(cost_pico + was.new_cost_pico, cost_pico, was.new_cost_pico), cost_complete = cost_complete and was.new_cost_complete, model_calls = model_calls + was.new_model_calls,
        usage_estimated = usage_estimated or was.new_estimated, steps = coalesce(was.new_steps, t.steps),
        tools_left_out = coalesce(was.new_tools_left_out, t.tools_left_out),
        first_text_at = coalesce(first_text_at, was.new_first_text_at)`;
}

/** Returns the same with what other models than the agent's own used, and the turn log that a continuation does not have. */
export function addWholeClaim(sql: AnySql) {
  return sql`${addClaim(sql)}, answer = was.new_answer,
        model_usage = case when was.new_others is null then model_usage else coalesce(model_usage, '[]') || was.new_others end,
        relay_events = case when was.leg is null then was.new_relay_events else relay_events end,
        last_chunk = case when was.leg is null then was.new_last_chunk else last_chunk end`;
}

/**
 * Returns the CTE `joined` that appends the new messages. New places in the transcript start above every place that ever
 * was, because `max(seq)` is read from the snapshot before a cut.
 */
export function appendMessages(sql: AnySql) {
  return sql`joined as (
      insert into messages (session_id, seq, id, role, turn_id, content)
      select e.session_id, coalesce((select max(seq) from messages where session_id = e.session_id), 0) + n.place,
        n.message ->> 'id', n.message ->> 'role', e.id, n.message
      from ended e cross join json_array_elements(e.new_messages) with ordinality as n (message, place)
      where e.session_id is not null
    )`;
}

/** Returns the CTE `extended`: the answer that a continuation extends moves to a new place, so that `after` cursors meet it again. */
export function extendAnswer(sql: AnySql) {
  return sql`extended as (
      update messages m set content = e.new_replaced,
        seq = (select max(seq) from messages where session_id = e.session_id) + 1
      from ended e
      where e.new_replaced is not null and m.session_id = e.session_id and m.id = e.assistant_message_id and m.role = 'assistant'
    )`;
}

/** Returns what the session stores more by the messages of `ended e`, as `messages.bytes` counts them; of an answer that is extended the difference. */
export function grownBytes(sql: AnySql) {
  return sql`e.new_message_bytes + case when e.new_replaced is null then 0 else e.new_replaced_bytes - coalesce(e.said_bytes, (
          select m.bytes from messages m
          where m.session_id = e.session_id and m.id = e.assistant_message_id and m.role = 'assistant' limit 1
        ), e.new_replaced_bytes) end`;
}

/** Returns what `ended` stores for a turn beside its messages: what it was asked with counts once it has ended. */
export function bytesAsked(sql: AnySql) {
  return askedBytes(sql, sql`t`);
}

/** Returns the CTE that adds what claims used to the budgets that count them. */
export function book(sql: AnySql) {
  return bookBudgets(sql, {
    from: sql`ended e`,
    tokens: sql`e.new_input_tokens + e.new_output_tokens`,
    costPico: sql`coalesce(e.new_cost_pico, 0)`,
  });
}

/**
 * Returns the CTE `spent` that takes what claims used from their tenants' credit. The tenants' rows are locked in the
 * order of their ids, as by every statement that spends of several.
 */
export function spend(sql: AnySql) {
  return sql`owed as materialized (
      select t.id, o.tokens from (
        select tenant_id, sum(new_input_tokens + new_output_tokens)::bigint as tokens from ended group by tenant_id order by tenant_id
      ) o cross join lateral (
        select id from tenants where id = o.tenant_id and usage_credit is not null for no key update
      ) t where o.tokens > 0
    ), spent as (
      update tenants t set usage_credit = usage_credit - owed.tokens from owed where t.id = owed.id
    )`;
}

/** What the job `turn.after` tells webhooks of. A tenant whose webhooks are all for other events paid half a turn's time for that job. */
const turnEvents = ["turn.ended", "budget.warned", "budget.reached"] as const;

/** Returns the query that adds the job `turn.after` of ends of which anybody but their readers is told. */
export function addAfterJob(sql: AnySql) {
  return sql`select (${addJobSql(sql, "turn.after", { stopId: sql`e.id`, turnId: sql`e.id`, tenantId: sql`e.tenant_id` })}).id
      from ended e where e.kind in ('chat', 'task') or (
        select n.monetization or ${hasWebhooksFor(sql, sql`n.id`, turnEvents)} from tenants n where n.id = e.tenant_id)`;
}

/** Returns the query that adds the job of the session's line, where turns wait in it. */
export function addLineJob(sql: AnySql) {
  return sql`select (${addJobSql(sql, "session.next", { sessionId: sql`e.session_id`, tenantId: sql`e.tenant_id` })}).id
      from ended e where e.home_line > 0 and e.before <> 'enqueued'`;
}
