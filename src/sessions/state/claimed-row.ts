import type postgres from "postgres";
import { agentOfTurn, type LoadedAgentRow, toLoadedAgent } from "../../agents/load.ts";
import { isOverBudget } from "../../budgets/exceeded.ts";
import { ownerOf } from "../../budgets/sums.ts";
import type { AnySql } from "../../kernel/database/client.ts";
import type { IdOf } from "../../kernel/ids.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { ResponseFormat } from "../../model/response-format.ts";
import type { CallerOptions } from "./caller-options.ts";
import type { ClaimedTurn } from "./claimed-turn.ts";
import { type HistoryRow, historyOfRow, noHistory } from "./history.ts";
import type { TurnKind } from "./turn.ts";
import type { ToolLeftOut, TurnStep } from "./turn-step.ts";

/** A turn as the statement that claimed it returns it: the columns of `claimedColumns` and, of a turn that is not the first of its session, of `historyOfTurn`. */
export interface ClaimedRow extends LoadedAgentRow, HistoryRow {
  /** Null: it was not claimed. */
  id: IdOf<"turn"> | null;
  tenantId: IdOf<"tenant">;
  agentId: IdOf<"agent">;
  sessionId: IdOf<"session"> | null;
  kind: TurnKind;
  continuationId: IdOf<"continuation"> | null;
  attempt: number;
  agentVersion: number;
  input: UiMessage | UiMessage[] | null;
  keepSeq: number | null;
  assistantMessageId: IdOf<"message">;
  userId: string;
  turnMetadata: Record<string, unknown>;
  requestId: string | null;
  claimedAt: Date;
  steps: TurnStep[] | null;
  toolsLeftOut: ToolLeftOut[] | null;
  waitedSeconds: number;
  traceparent: string | null;
  logAttempt: number;
  stepsDone: number;
  stepEvents: number;
  toolEvents: number | null;
  modelCalls: number;
  usedTokens: number;
  responseFormat: ResponseFormat | null;
  callerOptions: CallerOptions | null;
  runMs: number;
  usageCredit: number | null;
  hasBudgets: boolean;
  isOverBudget: boolean;
  pricesVersion: number;
  answer: UiMessage | null;
}

/**
 * Returns the columns of a claimed turn `t`, for a query with the joins of `claimedJoins`. One that `goesOn` may be a continuation:
 * there is a CTE `continued` then, of those that are started.
 */
export function claimedColumns(sql: AnySql, { goesOn }: { readonly goesOn: boolean }): postgres.Fragment {
  const orOfContinued = (column: string) =>
    sql.unsafe(
      goesOn ? `coalesce((select c.${column} from continued c where c.turn_id = t.id), t.${column})` : `t.${column}`,
    );
  return sql`t.id, t.tenant_id, t.agent_id, t.session_id, t.kind, t.continuation_id, t.attempt, t.agent_version, t.input,
      t.keep_seq, t.assistant_message_id, t.user_id, t.metadata as turn_metadata, t.request_id, t.model_calls, t.input_tokens + t.output_tokens as used_tokens, t.run_ms, t.response_format, t.answer,
      ${orOfContinued("log_attempt")} as log_attempt, t.steps_done, t.step_events, t.tool_events,
      ${orOfContinued("caller_options")} as caller_options,
      t.traceparent, t.claimed_at, t.steps, t.tools_left_out, extract(epoch from now() - coalesce(t.queued_at, t.accepted_at))::float8 as waited_seconds,
      tenant.*, agent.*`;
}

/** Returns the joins of what a claimed turn `t` runs on: its tenant and its agent. */
export function claimedJoins(sql: AnySql): postgres.Fragment {
  return sql`left join lateral (
      select n.usage_credit, n.prices_version, n.has_budgets, n.has_budgets and ${isOverBudget(sql, ownerOf(sql, "t"))} as is_over_budget
      from tenants n where n.id = t.tenant_id
    ) tenant on true
    left join lateral (${agentOfTurn(sql)}) agent on true`;
}

/** Returns the turn of a row that was claimed; `isFirst`: its session has just been made, so that there is no history. */
export function toClaimedTurn(row: ClaimedRow, { isFirst }: { readonly isFirst: boolean }): ClaimedTurn {
  const agent = toLoadedAgent(row);
  return {
    id: row.id as IdOf<"turn">,
    tenantId: row.tenantId,
    agentId: row.agentId,
    sessionId: row.sessionId,
    kind: row.kind,
    continuationId: row.continuationId,
    attempt: row.attempt,
    agentVersion: row.agentVersion,
    input: row.input,
    keepSeq: row.keepSeq,
    assistantMessageId: row.assistantMessageId,
    userId: row.userId,
    metadata: row.turnMetadata,
    requestId: row.requestId,
    claimedAt: row.claimedAt,
    steps: row.steps ?? [],
    toolsLeftOut: row.toolsLeftOut ?? [],
    waitedSeconds: row.waitedSeconds,
    traceparent: row.traceparent,
    logAttempt: row.logAttempt,
    stepsDone: row.stepsDone,
    stepEvents: row.stepEvents,
    toolEvents: row.toolEvents,
    modelCalls: row.modelCalls,
    usedTokens: row.usedTokens,
    responseFormat: row.responseFormat,
    callerOptions: row.callerOptions,
    runMs: row.runMs,
    usageCredit: row.usageCredit,
    hasBudgets: row.hasBudgets,
    isOverBudget: row.isOverBudget,
    pricesVersion: row.pricesVersion,
    answer: row.answer,
    agent,
    hasFallbacks: (agent?.config?.fallbackModels.length ?? 0) > 0,
    history: row.sessionId === null || isFirst ? noHistory(row.turnMetadata) : historyOfRow(row),
    ahead: null,
  };
}
