import type { AnySql } from "../../kernel/database/client.ts";
import { placeInTime, type TimePlace } from "../../kernel/database/keyset.ts";
import { ApiError } from "../../kernel/errors.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { inDollars, noTokens, type ShownCost, showCost, type TokenCounts } from "../../usage/tokens.ts";
import type { TurnKind, TurnStatus } from "./turn.ts";
import { waitingTime } from "./turn-columns.ts";
import type { TurnError } from "./turn-end.ts";
import type { StepFailure, ToolLeftOut, TurnStep } from "./turn-step.ts";

/** How the interface says the state of a turn: one that waits in its session's line is `queued`. */
export const shownStatuses = ["queued", "running", "waiting", "succeeded", "failed", "canceled"] as const;
export type ShownStatus = (typeof shownStatuses)[number];

/** A turn as lists show it: whose it is, how it went and what it used, no content. */
export interface TurnView extends TokenCounts, ShownCost {
  readonly id: IdOf<"turn">;
  readonly agentId: IdOf<"agent">;
  readonly agentVersion: number;
  readonly sessionId: IdOf<"session"> | null;
  readonly kind: TurnKind;
  readonly status: ShownStatus;
  /** Why it failed; null for any other turn. */
  readonly error: TurnError | null;
  readonly userId: string;
  /** How often a worker took it. */
  readonly attempts: number;
  readonly requestId: string | null;
  readonly acceptedAt: string;
  readonly startedAt: string | null;
  readonly firstTextAt: string | null;
  readonly finishedAt: string | null;
  /** How long it waited for people and for its caller's tools, in milliseconds. */
  readonly waitedMs: number;
  /** How long workers ran it. */
  readonly runMs: number;
  readonly usageEstimated: boolean;
  readonly modelCalls: number;
}

/** A turn as it is read by its id. */
export interface TurnDetails extends Omit<TurnView, "error"> {
  /** With what the vendor said, where the turn failed at a tenant's provider. */
  readonly error:
    | (TurnError & { readonly details?: { readonly vendor: VendorWords } | { readonly budgetId: IdOf<"budget"> } })
    | null;
  readonly steps: readonly ShownStep[];
  readonly toolsLeftOut: readonly ToolLeftOut[];
}

/** What a vendor said of the failure that ended a turn. */
type VendorWords = Omit<StepFailure, "at" | "endedTurn">;
type ShownFailure = Omit<StepFailure, "endedTurn">;

/** A step as it is shown. */
interface ShownStep extends Omit<TurnStep, "failures"> {
  readonly failures: readonly (ShownFailure | Omit<ShownFailure, "code" | "message" | "requestId">)[];
}

/** A row of `viewColumns`. */
export interface TurnViewRow extends TimePlace, TokenCounts {
  costUsd: string | null;
  costComplete: boolean;
  id: IdOf<"turn">;
  agentId: IdOf<"agent">;
  agentVersion: number;
  sessionId: IdOf<"session"> | null;
  kind: TurnKind;
  status: TurnStatus | "enqueued";
  error: TurnError | null;
  userId: string;
  attempt: number;
  requestId: string | null;
  acceptedAt: Date;
  startedAt: Date | null;
  firstTextAt: Date | null;
  finishedAt: Date | null;
  waitedMs: number;
  runMs: number;
  usageEstimated: boolean;
  modelCalls: number;
}

/** Returns the columns of `turns t` that `showTurn` needs. */
export function viewColumns(sql: AnySql) {
  return sql`t.id, t.agent_id, t.agent_version, t.session_id, t.kind, t.status, t.error, t.user_id, t.attempt, t.request_id,
    t.accepted_at, t.started_at, t.first_text_at, t.finished_at,
    t.waited_ms + case when t.status = 'waiting' then ${waitingTime(sql, "t")} else 0 end as waited_ms, ${runTime(sql)} as run_ms, t.input_tokens, t.output_tokens,
    t.cached_input_tokens, t.cache_write_tokens, t.reasoning_tokens, ${inDollars(sql, sql`t.cost_pico`)} as cost_usd, t.cost_complete, t.usage_estimated, t.model_calls,
    ${placeInTime(sql, "t.accepted_at")}`;
}

/** Returns the SQL of how long workers ran a turn `t`, in milliseconds; of one that runs, until now. */
export function runTime(sql: AnySql) {
  return sql`(t.run_ms + case when t.status = 'running' then greatest(0, coalesce(extract(epoch from now() - t.claimed_at) * 1000, 0))::bigint else 0 end)`;
}

/**
 * Returns the condition that a row of `turns t` is still to be seen: its agent exists, and its
 * session was not deleted. The turn of form A's session that its first turn left behind is.
 */
export function isVisible(sql: AnySql) {
  // Scalar subqueries: each is one probe of an index, and never a join with a whole table.
  return sql`(select true from agents a where a.id = t.agent_id)
    and (select s.deleted_at is null or not s.visible from sessions s where s.id = t.session_id) is not false`;
}

/** Returns a turn as lists show it. */
export function showTurn(row: TurnViewRow): TurnView {
  return {
    id: row.id,
    agentId: row.agentId,
    agentVersion: row.agentVersion,
    sessionId: row.sessionId,
    kind: row.kind,
    status: row.status === "enqueued" ? "queued" : row.status,
    error: row.status === "failed" ? showError(row.error) : null,
    userId: row.userId,
    attempts: row.attempt,
    requestId: row.requestId,
    acceptedAt: row.acceptedAt.toISOString(),
    startedAt: row.startedAt?.toISOString() ?? null,
    firstTextAt: row.firstTextAt?.toISOString() ?? null,
    finishedAt: row.finishedAt?.toISOString() ?? null,
    waitedMs: row.waitedMs,
    runMs: row.runMs,
    inputTokens: row.inputTokens,
    outputTokens: row.outputTokens,
    cachedInputTokens: row.cachedInputTokens,
    cacheWriteTokens: row.cacheWriteTokens,
    reasoningTokens: row.reasoningTokens,
    ...showCost(row),
    usageEstimated: row.usageEstimated,
    modelCalls: row.modelCalls,
  };
}

/**
 * Returns a turn of a tenant with its steps. Throws 404. `hidesWords`: without what vendors said of failures, which is
 * for the tenant alone.
 */
export async function readTurn(
  sql: AnySql,
  tenantId: string,
  turnId: string,
  { hidesWords }: { readonly hidesWords: boolean },
): Promise<TurnDetails> {
  const [row] = await sql<(TurnViewRow & { steps: TurnStep[] | null; toolsLeftOut: ToolLeftOut[] | null })[]>`
    select /* turn.show */ ${viewColumns(sql)}, t.steps, t.tools_left_out from turns t
    where t.id = ${turnId} and t.tenant_id = ${tenantId} and ${isVisible(sql)}`;
  if (row === undefined) throw new ApiError("not_found");
  // A step of a turn of before has no parts.
  const steps = (row.steps ?? []).map((step) => ({ ...noTokens, ...step }));
  const view = showTurn(row);
  // While no worker has the turn, nothing runs: what has no result waits for one, or will get none.
  const rest = row.finishedAt === null ? "waiting" : "canceled";
  return {
    ...view,
    error: hidesWords ? view.error : withDetails(row, view.error, steps),
    toolsLeftOut: row.toolsLeftOut ?? [],
    steps: steps.map((step) => {
      const { failures = [], ...shown } = row.status === "running" ? step : resting(step, rest);
      return { ...shown, failures: failures.map((failure) => showFailure(failure, hidesWords)) };
    }),
  };
}

function showError(error: TurnError | null): TurnError | null {
  return error === null ? null : { code: error.code, message: error.message };
}

/** Returns why a turn failed, with the budget or with what the vendor said where that was why. */
function withDetails(row: TurnViewRow, error: TurnError | null, steps: readonly TurnStep[]): TurnDetails["error"] {
  if (error !== null && row.error?.budget !== undefined)
    return { ...error, details: { budgetId: row.error.budget.id } };
  const last = steps.at(-1)?.failures?.findLast(({ endedTurn }) => endedTurn === true);
  if (error === null || last === undefined) return error;
  const { at: _at, endedTurn: _endedTurn, ...vendor } = last;
  return { ...error, details: { vendor } };
}

function showFailure({ endedTurn: _endedTurn, ...failure }: StepFailure, hidesWords: boolean) {
  if (!hidesWords) return failure;
  const { code: _code, message: _message, requestId: _requestId, ...shown } = failure;
  return shown;
}

/** Returns a step whose calls without a result have this status. */
function resting(step: TurnStep, status: "waiting" | "canceled"): TurnStep {
  return { ...step, toolCalls: step.toolCalls.map((call) => (call.finishedAt === null ? { ...call, status } : call)) };
}
