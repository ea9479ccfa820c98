import { Buffer } from "node:buffer";
import type { AnySql } from "../../kernel/database/client.ts";
import type { ClaimKey } from "../state/claim-key.ts";
import type { TurnStatus } from "../state/turn.ts";
import type { TurnOutcome } from "../state/turn-end.ts";

/**
 * How an end is handed to the statements that write it: as a row in JSON, which they read by the columns here. So each
 * statement has one text, whatever the end says, and Postgres plans it once a connection.
 */

/** Names the claim that may end a turn: when the turn has a later attempt or another state, nothing is written. */
export interface Fence extends ClaimKey {
  readonly statuses: readonly TurnStatus[];
}

/** The columns that every end has. */
const everyColumn = {
  turn_id: "text",
  session_id: "text",
  attempt: "int",
  claim_at: "timestamptz",
  new_relay_events: "int",
  new_last_chunk: "json",
  new_input_tokens: "bigint",
  new_output_tokens: "bigint",
  new_cached_input_tokens: "bigint",
  new_cache_write_tokens: "bigint",
  new_reasoning_tokens: "bigint",
  new_cost_pico: "bigint",
  new_cost_complete: "boolean",
  new_model_calls: "int",
  new_estimated: "boolean",
  new_steps: "json",
  new_tools_left_out: "json",
  new_first_text_at: "timestamptz",
  new_messages: "json",
  new_message_count: "int",
  new_message_bytes: "bigint",
  new_preview: "text",
  new_provider: "text",
  new_model: "text",
} as const;

/** Those that only an end has which is no plain one. */
const furtherColumns = {
  statuses: "text[]",
  new_status: "text",
  new_error: "json",
  new_others: "jsonb",
  new_usage_lost: "boolean",
  new_replaced: "json",
  new_replaced_bytes: "bigint",
  new_answer: "json",
  /** It may not be written once somebody has asked the turn to stop. */
  is_good: "boolean",
  /** The transcript is cut for a regeneration. */
  cuts: "boolean",
  /** What a cancelled turn had said when it stopped to ask is removed. */
  undoes: "boolean",
  /** The session has something to show. */
  shows: "boolean",
  continuation_id: "text",
  said_parts: "int",
  approvals: "json",
  client_calls: "json",
} as const;

const listOf = (columns: object) => Object.entries(columns).map(([name, type]) => `${name} ${type}`);

/** Returns the columns of `plainRow`, as `json_to_recordset` wants them. */
export function plainColumns(sql: AnySql) {
  return sql.unsafe(listOf(everyColumn).join(", "));
}

/** Returns the columns of `wholeRow`. */
export function wholeColumns(sql: AnySql) {
  return sql.unsafe(listOf({ ...everyColumn, ...furtherColumns }).join(", "));
}

/** The claim that ends. */
interface EndedClaim extends ClaimKey {
  readonly sessionId: string | null;
}

/** Returns the row of an end that needs no more than what every end has. */
export function plainRow(claim: EndedClaim, outcome: TurnOutcome): string {
  return rowOf(claim, outcome, {});
}

/** Returns the row of any end. */
export function wholeRow({ statuses, ...claim }: Fence, outcome: TurnOutcome): string {
  const { status, messages, replaced, answer, usage } = outcome;
  const isGood = status === "succeeded" || status === "waiting";
  const keeps = !isGood && (messages.length > 0 || (status === "canceled" && replaced !== null));
  const isKept = status === "succeeded" || keeps;
  const said = replaced ?? answer ?? messages.at(-1) ?? null;
  return rowOf({ ...claim, sessionId: null }, outcome, {
    statuses,
    new_status: status,
    new_error: outcome.error,
    new_others: usage.others.length === 0 ? null : usage.others,
    new_usage_lost: !outcome.usageKnown,
    new_replaced: replaced,
    new_replaced_bytes: replaced === null ? null : Buffer.byteLength(JSON.stringify(replaced)),
    new_answer: answer,
    is_good: isGood,
    cuts: isKept,
    undoes: status === "canceled" && !keeps,
    shows: isKept,
    continuation_id: outcome.continuationId,
    said_parts: said?.parts.length ?? null,
    approvals: outcome.approvals,
    client_calls: outcome.clientCalls,
  });
}

function rowOf({ turnId, sessionId, attempt, claimedAt }: EndedClaim, outcome: TurnOutcome, further: object): string {
  const { messages, usage, record } = outcome;
  const fields = {
    turn_id: turnId,
    session_id: sessionId,
    attempt,
    claim_at: claimedAt ?? null,
    new_relay_events: outcome.relayEvents,
    new_last_chunk: outcome.lastChunk,
    new_input_tokens: usage.inputTokens,
    new_output_tokens: usage.outputTokens,
    new_cached_input_tokens: usage.cachedInputTokens,
    new_cache_write_tokens: usage.cacheWriteTokens,
    new_reasoning_tokens: usage.reasoningTokens,
    new_cost_pico: usage.costPico,
    new_cost_complete: usage.costComplete,
    new_model_calls: usage.modelCalls,
    new_estimated: usage.estimated,
    new_steps: record?.steps ?? null,
    new_tools_left_out: record === null || record.toolsLeftOut.length === 0 ? null : record.toolsLeftOut,
    new_first_text_at: record?.firstTextAt ?? null,
    new_message_count: messages.length,
    new_preview: outcome.preview,
    new_provider: usage.provider,
    new_model: usage.model,
    ...further,
  };
  // Once: an answer has up to 16 MiB. Of the list only the messages count as stored bytes, not its brackets and commas.
  const list = JSON.stringify(messages);
  const bytes = messages.length === 0 ? 0 : Buffer.byteLength(list) - messages.length - 1;
  return `${JSON.stringify(fields).slice(0, -1)},"new_message_bytes":${bytes},"new_messages":${list}}`;
}
