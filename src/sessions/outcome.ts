import { newId } from "../ids.ts";
import type { ModelResult } from "../model/loop.ts";
import type { RelayWriter } from "../relay/writer.ts";
import { closeCalls, pendingCalls } from "./calls.ts";
import { errorOf, type PreparedTurn } from "./prepare.ts";
import type { UiMessage } from "./schema.ts";
import { previewOf } from "./transcript.ts";
import { badOutcome, type ClaimedTurn, type TurnError, type TurnOutcome, type TurnUsage } from "./turns.ts";

/** What the model's result means for the usage row. */
export function usageOf(prepared: PreparedTurn, result: ModelResult): TurnUsage {
  const { used } = prepared;
  return {
    provider: prepared.provider.id,
    providerType: prepared.provider.providerType,
    model: prepared.model,
    inputTokens: result.inputTokens + used.inputTokens,
    outputTokens: result.outputTokens + used.outputTokens,
    modelCalls: result.modelCalls + used.modelCalls,
  };
}

/** The outcome of a model that finished: the turn succeeded, or it stops to ask for approvals. */
export function goodOutcome(turn: ClaimedTurn, prepared: PreparedTurn, result: ModelResult): TurnOutcome {
  const { message } = result;
  const pending = turn.sessionId === null ? [] : pendingCalls(message);
  const extends_ = prepared.extended !== null;
  const asked = turn.input === null || Array.isArray(turn.input) ? [] : [turn.input as UiMessage];
  return {
    ...badOutcome("failed", null, usageOf(prepared, result)),
    status: pending.length > 0 ? "waiting" : "succeeded",
    messages: turn.sessionId === null || extends_ ? [] : [...asked, message],
    replaced: extends_ ? message : null,
    preview: previewOf(message),
    answer: turn.sessionId === null ? message : null,
    lastChunk: result.lastChunk,
    continuationId: pending.length > 0 ? newId("continuation") : null,
    approvals: pending,
  };
}

/**
 * The outcome of a turn that failed or was cancelled. The transcript stays as it
 * was, but for a continuation: what its tools did is kept, and calls that were
 * never answered are closed.
 */
export function endedOutcome(
  status: "failed" | "canceled",
  error: TurnError,
  turn: ClaimedTurn,
  prepared: PreparedTurn | null,
  result: ModelResult | null,
): TurnOutcome {
  const usage = prepared === null || result === null ? {} : usageOf(prepared, result);
  const reached = prepared?.extended == null ? null : longer(prepared.extended, result?.message ?? null);
  const closing =
    status === "canceled"
      ? ({ state: "denied", reason: error.message } as const)
      : ({ state: "error", errorText: error.message } as const);
  const replaced = turn.continuationId === null || reached === null ? null : closeCalls(reached, closing);
  return { ...badOutcome(status, status === "canceled" ? null : error, usage), replaced };
}

/** The outcome in place of a good one, when the turn was cancelled just before the commit. */
export function canceledInstead({ usage, replaced, relayEvents }: TurnOutcome): TurnOutcome {
  const { message } = errorOf("turn_canceled");
  const closed = replaced === null ? null : closeCalls(replaced, { state: "denied", reason: message });
  return { ...badOutcome("canceled", null, usage), replaced: closed, relayEvents };
}

/** What was reached: the model's message holds the whole answer once it has begun. */
function longer(extended: UiMessage, message: UiMessage | null): UiMessage {
  return message !== null && message.parts.length >= extended.parts.length ? message : extended;
}

/** The outcome with the counts of its log, as it stands once the last chunks are written. */
export function withLog(
  outcome: TurnOutcome,
  writer: Pick<RelayWriter, "written">,
  held: readonly object[],
): TurnOutcome {
  return { ...outcome, relayEvents: writer.written + held.length + 1 };
}
