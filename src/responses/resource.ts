import type { IdOf } from "../kernel/ids.ts";
import type { ResponseFormat } from "../model/response-format.ts";
import type { CallerOptions } from "../sessions/state/caller-options.ts";
import type { TurnError } from "../sessions/state/turn-end.ts";
import type { LogStatus } from "../sessions/state/turn-log.ts";
import { addTokens, noTokens, type TokenCounts } from "../usage/tokens.ts";
import type { OutputItem } from "./items.ts";
import { responseOutput } from "./output.ts";
import type { AskedApproval, AskedPause, StoredResponse } from "./read.ts";
import { responseIdOf } from "./response-id.ts";

/** What a request said that its response says again. */
export interface Echo {
  readonly instructions: string | null;
  readonly previousResponseId: IdOf<"response"> | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly tools: readonly object[];
  readonly toolChoice: unknown;
  readonly textFormat: object;
  readonly background: boolean;
  readonly user: string | null;
  /** Null where the agent's or the vendor's counts. */
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly maxOutputTokens: number | null;
  /** How much the model was to think. */
  readonly effort: string | null;
  /** The system's messages in the input, which hold for what follows this response too. */
  readonly system: readonly string[];
}

const unasked: Echo = {
  instructions: null,
  previousResponseId: null,
  metadata: {},
  tools: [],
  toolChoice: "auto",
  textFormat: { type: "text" },
  background: false,
  user: null,
  temperature: null,
  topP: null,
  maxOutputTokens: null,
  effort: null,
  system: [],
};

/** Returns what the request for a response said; of a turn that was asked for in another way, nothing. */
export function echoOf(options: CallerOptions | null): Echo {
  return options === null ? unasked : { ...unasked, ...(options.echo as Partial<Echo>) };
}

/** Returns the options of the request that a response responds to. */
export function optionsOf({ callerOptions, pauses, place }: StoredResponse): CallerOptions | null {
  return [callerOptions, ...pauses.map((pause) => pause.callerOptions)]
    .slice(0, place + 1)
    .reduce((before, own) => own ?? before);
}

/** What is the same for every response: no request changes it. */
const settings = {
  truncation: "auto",
  parallel_tool_calls: true,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  max_tool_calls: null,
  service_tier: "default",
  safety_identifier: null,
  prompt_cache_key: null,
} as const;

/** A response as the protocol shows it. */
export interface ResponseResource {
  readonly id: IdOf<"response">;
  readonly status: ResponseStatus;
  readonly output: readonly OutputItem[];
  readonly [field: string]: unknown;
}

export type ResponseStatus = "queued" | "in_progress" | "completed" | "failed" | "incomplete" | "cancelled";

/** Returns a response as the protocol shows it; `output` where the caller has it already. */
export function showResponse(stored: StoredResponse, output: readonly OutputItem[] | null = null): ResponseResource {
  const { id, agentId, responseFormat, pauses, place } = stored;
  const echo = echoOf(optionsOf(stored));
  const { status, reason } = stateOf(stored);
  const own = pauses[place - 1];
  const ended = endOf(stored);
  const error = own === undefined ? stored.error : (own.error ?? stored.error);
  return {
    id,
    object: "response",
    created_at: seconds(own?.createdAt ?? stored.acceptedAt),
    completed_at: status === "completed" && ended !== null ? seconds(ended) : null,
    status,
    background: echo.background,
    error: status === "failed" ? responseError(error ?? { code: "provider_error", message: "The turn failed." }) : null,
    incomplete_details: reason,
    instructions: echo.instructions,
    metadata: echo.metadata,
    model: agentId,
    output: output ?? (isUnderWay(status) ? [] : responseOutput(stored)),
    previous_response_id: previousOf(stored, echo),
    store: stored.sessionId !== null,
    text: { format: formatOf(responseFormat, echo) },
    tool_choice: echo.toolChoice,
    tools: echo.tools,
    usage: isUnderWay(status) ? null : usageOf(stored),
    user: echo.user,
    temperature: echo.temperature ?? 1,
    top_p: echo.topP ?? 1,
    max_output_tokens: echo.maxOutputTokens,
    reasoning: echo.effort === null ? null : { effort: echo.effort, summary: null },
    ...settings,
  };
}

/** An error as clients read it inside a response: with the kind of a refusal's (`docs/responses.md`, "Errors"). */
export function responseError({ code, message }: TurnError) {
  return { code, message, type: code === "provider_error" ? "model_error" : "server_error", param: null };
}

function previousOf({ turnId, pauses, place, callerOptions }: StoredResponse, echo: Echo): IdOf<"response"> | null {
  if (place === 0 || pauses[place - 1]?.callerOptions != null) return echo.previousResponseId;
  // It was not asked for by this protocol: it goes on from the one before.
  const before = pauses[place - 2];
  return callerOptions === null ? null : responseIdOf(before?.continuationId ?? turnId);
}

function formatOf(format: ResponseFormat | null, echo: Echo): object {
  return format === null ? { type: "text" } : echo.textFormat;
}

/** Returns whether more is to come of a response. */
export function isUnderWay(status: ResponseStatus): boolean {
  return status === "queued" || status === "in_progress";
}

const statusOfLog: Readonly<Record<Exclude<LogStatus, "succeeded">, ResponseStatus>> = {
  enqueued: "queued",
  queued: "queued",
  running: "in_progress",
  waiting: "incomplete",
  failed: "failed",
  canceled: "cancelled",
};

/** Why a response is not complete, and for an approval the response that goes on once all is decided. */
interface Incomplete {
  readonly reason: "approval_required" | "max_output_tokens" | "content_filter";
  readonly next_response_id?: IdOf<"response">;
}

function stateOf(stored: StoredResponse): { readonly status: ResponseStatus; readonly reason: Incomplete | null } {
  const { pauses, place, turnStatus, message } = stored;
  const [own, after] = [pauses[place - 1], pauses[place]];
  const log = own === undefined ? (after === undefined ? turnStatus : "succeeded") : own.status;
  // Where a turn that stopped to ask was cancelled before anybody read its message, the cancel is its end.
  const isCanceled = turnStatus === "canceled" && (log === "failed" || message === null);
  if (isCanceled) return { status: "cancelled", reason: null };
  if (own?.status === "waiting")
    return { status: "incomplete", reason: own.approvals.some(isPending) ? asks(own) : null };
  if (log !== "succeeded") return { status: statusOfLog[log], reason: null };
  const isAsked = after !== undefined && after.approvals.length > 0;
  const reason = isAsked ? asks(after) : cutReason(own === undefined ? stored.lastChunk : own.lastChunk);
  return { status: reason === null ? "completed" : "incomplete", reason };
}

function isPending({ status }: AskedApproval): boolean {
  return status === "pending";
}

function asks({ continuationId }: AskedPause): Incomplete {
  return { reason: "approval_required", next_response_id: responseIdOf(continuationId) };
}

/** Returns why the model's answer was cut off; null when it was not. */
function cutReason(lastChunk: unknown): Incomplete | null {
  const { finishReason } = (lastChunk ?? {}) as { finishReason?: unknown };
  if (finishReason === "length") return { reason: "max_output_tokens" };
  return finishReason === "content-filter" ? { reason: "content_filter" } : null;
}

function endOf({ pauses, place, finishedAt }: StoredResponse): Date | null {
  return pauses[place]?.createdAt ?? pauses[place - 1]?.finishedAt ?? finishedAt;
}

/** Tokens of the steps of this response: those that began between its start and the next one's. */
function usageOf(stored: StoredResponse): object {
  const { pauses, place, steps } = stored;
  if (pauses.length === 0) return usage(stored);
  const from = pauses[place - 1]?.startedAt ?? null;
  const until = pauses[place]?.startedAt ?? null;
  const own = (steps ?? []).filter(({ startedAt }) => {
    const at = Date.parse(startedAt);
    return (place === 0 || (from !== null && at >= from.getTime())) && (until === null || at < until.getTime());
  });
  return usage(own.reduce((total, step) => addTokens(total, { ...noTokens, ...step }), noTokens));
}

function usage({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens }: TokenCounts): object {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
}

function seconds(at: Date): number {
  return Math.floor(at.getTime() / 1000);
}
