import { byKeyOnly } from "../../kernel/database/by-key-only.ts";
import type { AnySql } from "../../kernel/database/client.ts";
import { newId } from "../../kernel/ids.ts";
import type { ClaimedTurn } from "./claimed-turn.ts";
import { isNobodyTold } from "./told.ts";
import type { Fence } from "./turn.ts";
import { addRunTime } from "./turn-columns.ts";
import type { TurnOutcome } from "./turn-end.ts";
import type { TurnRecord } from "./turn-step.ts";

/** The end of a plain claim: a message in a session was answered, in one step, by the agent's own model. */
export interface PlainEnd {
  readonly claim: ClaimedTurn & { readonly sessionId: string };
  readonly outcome: TurnOutcome & { readonly record: TurnRecord; readonly relayEvents: number };
}

/** Returns the end of a claim where it is a plain one, else null. `checkpoints` says whether the turn has any. */
export function plainEnd(claim: ClaimedTurn, outcome: TurnOutcome, checkpoints: boolean): PlainEnd | null {
  const { sessionId, kind, continuationId, keepSeq, hasFallbacks } = claim;
  const { status, error, replaced, answer, preview, usage, usageKnown, relayEvents, record } = outcome;
  const isPlainClaim = kind === "session" && continuationId === null && keepSeq === null && !hasFallbacks;
  const isPlainOutcome = status === "succeeded" && error === null && replaced === null && answer === null;
  const isWhole = preview !== null && usageKnown && usage.others.length === 0;
  if (checkpoints || sessionId === null || record === null || relayEvents === null) return null;
  if (record.toolsLeftOut.length > 0) return null;
  if (!isPlainClaim || !isPlainOutcome || !isWhole) return null;
  return { claim: { ...claim, sessionId }, outcome: { ...outcome, record, relayEvents } };
}

/** Returns what names a plain claim. */
export function plainFence(claim: PlainEnd["claim"], isQuiet: boolean): Fence {
  return { turnId: claim.id, attempt: claim.attempt, statuses: ["running"], claim, checkpoints: false, isQuiet };
}

/**
 * Returns the move *end* of several plain claims (`endMove` in `turn.ts` has one claim's), as CTEs: `home`,
 * `was` and `ended`, the last with the columns `new_…`. Each claim has its own fence. A turn or session whose row another
 * transaction holds is left out, so that no claim waits for the row of another one.
 *
 * Postgres assumes that a limit it does not know lets through a tenth of ten rows, and so it finds each row by
 * its key, also while it does not know yet how many rows the tables have. `isQuiet`: see `Fence`.
 */
export function endMoveOfMany(sql: AnySql, ends: readonly PlainEnd[], isQuiet: boolean) {
  const texts = (of: (end: PlainEnd) => string | null) => sql`${ends.map(of)}::text[]`;
  const numbers = (of: (end: PlainEnd) => number) => sql`${ends.map((end) => String(of(end)))}::text[]`;
  return sql`
    asked as materialized (
      select turn_id, session_id, attempt::int, new_relay_events::int, new_last_chunk::json, new_input_tokens::bigint,
        new_output_tokens::bigint, new_model_calls::int, new_estimated::boolean, new_steps::json,
        new_first_text_at::timestamptz, new_messages::json, new_message_count::int, new_preview, new_provider, new_provider_type, new_model, new_event_id
      from unnest(${texts(({ claim }) => claim.id)}, ${texts(({ claim }) => claim.sessionId)}, ${numbers(({ claim }) => claim.attempt)},
        ${numbers(({ outcome }) => outcome.relayEvents)}, ${texts(({ outcome }) => JSON.stringify(outcome.lastChunk))},
        ${numbers(({ outcome }) => outcome.usage.inputTokens)}, ${numbers(({ outcome }) => outcome.usage.outputTokens)},
        ${numbers(({ outcome }) => outcome.usage.modelCalls)}, ${texts(({ outcome }) => String(outcome.usage.estimated))},
        ${texts(({ outcome }) => JSON.stringify(outcome.record.steps))},
        ${texts(({ outcome }) => outcome.record.firstTextAt?.toISOString() ?? null)},
        ${texts(({ outcome }) => JSON.stringify(outcome.messages))}, ${numbers(({ outcome }) => outcome.messages.length)},
        ${texts(({ outcome }) => outcome.preview)}, ${texts(({ outcome }) => outcome.usage.provider)},
        ${texts(({ outcome }) => outcome.usage.providerType)}, ${texts(({ outcome }) => outcome.usage.model)},
        ${texts(() => newId("merchantEvent"))})
        as t(turn_id, session_id, attempt, new_relay_events, new_last_chunk, new_input_tokens, new_output_tokens,
          new_model_calls, new_estimated, new_steps, new_first_text_at, new_messages, new_message_count, new_preview, new_provider,
          new_provider_type, new_model, new_event_id)
      limit ${ends.length}
    ), home as materialized (
      select s.id, s.line from (select distinct session_id from asked order by session_id) a
      cross join lateral (select id, line from sessions where id = a.session_id for no key update skip locked) s
    ), was as materialized (
      select asked.*, t.id, t.leg, t.before from home join asked on asked.session_id = home.id
      cross join lateral (
        select id, continuation_id as leg, status as before from turns
        where id = asked.turn_id and attempt = asked.attempt and ${byKeyOnly(sql, sql`status`)} = 'running'
          and continuation_id is null and cancel_requested_at is null
          ${isQuiet ? sql`and home.line = 0 and ${isNobodyTold(sql, sql`turns.tenant_id`)}` : sql``}
        for no key update skip locked
      ) t
    ), ended as (
      update turns t set status = 'succeeded', error = null, finished_at = now(), ${addRunTime(sql)},
        input_tokens = input_tokens + new_input_tokens, output_tokens = output_tokens + new_output_tokens,
        model_calls = model_calls + new_model_calls, usage_estimated = usage_estimated or new_estimated,
        steps = new_steps, first_text_at = coalesce(first_text_at, new_first_text_at), relay_events = new_relay_events,
        last_chunk = new_last_chunk, answer = null
      from was where t.id = was.id
      returning t.*, was.leg, was.before, was.new_messages, was.new_message_count, was.new_preview, was.new_provider,
        was.new_provider_type, was.new_model, was.new_event_id, was.new_input_tokens, was.new_output_tokens
    )`;
}
