import { type AnySql, json } from "../../kernel/database/client.ts";
import type { TurnRecord } from "./turn-step.ts";

/** Assignments of a turn's row that several moves share (`turn.ts`). */

/** Returns the assignment that adds the time of a claim that is over. */
export function addRunTime(sql: AnySql) {
  return sql`run_ms = run_ms + greatest(0, coalesce(extract(epoch from now() - claimed_at) * 1000, 0))::bigint`;
}

/** Returns the SQL of how long the turn of a row has waited until now for what it stopped to ask, in milliseconds. */
export function waitingTime(sql: AnySql, row: string) {
  return sql`coalesce((select greatest(0, extract(epoch from now() - c.created_at) * 1000) from continuations c
          where c.id = ${sql(`${row}.continuation_id`)}), 0)::bigint`;
}

/**
 * Returns the assignments for a turn `t` that stops to ask: its next claim begins a step in a turn
 * log of its own. What was said and done until then is stored with the question, so it is a
 * completed step: a continuation whose worker is lost goes on from there.
 */
export function stepBegins(sql: AnySql) {
  return sql`shown_at = null, steps_done = greatest(t.steps_done, 1), step_events = 0, tool_events = null, crashes = 0, attempts_before = t.attempt`;
}

/** Returns the assignments that write what is known of a turn's steps, each with a comma behind it; null leaves what the row has. */
export function recordSteps(sql: AnySql, record: TurnRecord | null) {
  const { steps = null, firstTextAt = null, toolsLeftOut = [] } = record ?? {};
  return sql`steps = coalesce(${json(sql, steps)}, steps), tools_left_out = coalesce(${json(sql, toolsLeftOut.length === 0 ? null : toolsLeftOut)}, tools_left_out),
        first_text_at = coalesce(first_text_at, ${firstTextAt}::timestamptz),`;
}
