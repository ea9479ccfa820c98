import type { TurnLimits } from "../../agents/schema.ts";
import { modelCallsPerTurnMax } from "../../kernel/limits.ts";
import { isToolCall } from "../../messages/tool-calls.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { ModelMeter } from "../../model/call-meter.ts";
import type { ModelResult } from "../../model/run-model.ts";
import type { ClaimedTurn } from "../state/claimed-turn.ts";
import type { ClaimUsage } from "./claim-usage.ts";
import type { RunningTurn } from "./running-turns.ts";

/** The turn reached a limit of its agent, and may make no further model call. */
export class TurnLimitError extends Error {
  override readonly name = "TurnLimitError";
}

function limitsOf({ agent }: Pick<ClaimedTurn, "agent">): TurnLimits {
  return agent?.config?.turnLimits ?? {};
}

/** Returns how many model calls a claim may make before it ends well; where the agent has a limit, `limitedMeter` ends it. */
export function modelCallsLeft(turn: ClaimedTurn, usage: ClaimUsage): number {
  if (limitsOf(turn).maxModelCalls !== undefined) return Number.POSITIVE_INFINITY;
  return Math.max(1, modelCallsPerTurnMax - usage.modelCalls);
}

/** Returns a meter that does what `meter` does, and rejects a model call with `TurnLimitError` once the turn has used what its agent allows. */
export function limitedMeter(meter: ModelMeter, turn: ClaimedTurn, usage: ClaimUsage): ModelMeter {
  const { maxModelCalls, maxTokens } = limitsOf(turn);
  if (maxModelCalls === undefined && maxTokens === undefined) return meter;
  return {
    ...meter,
    beforeCall: async () => {
      if (maxModelCalls !== undefined && usage.modelCalls >= maxModelCalls)
        throw new TurnLimitError(`The turn reached its agent's limit of ${maxModelCalls} model calls.`);
      if (maxTokens !== undefined && usage.tokens >= maxTokens)
        throw new TurnLimitError(`The turn reached its agent's limit of ${maxTokens} tokens.`);
      await meter.beforeCall();
    },
  };
}

/** Stops the turn with `limit_reached` once it has run as long as its agent allows. Returns what ends the watch. */
export function watchSeconds({ turn, stop }: RunningTurn): () => void {
  const { maxSeconds } = limitsOf(turn);
  if (maxSeconds === undefined) return () => {};
  const timer = setTimeout(() => stop.abort("limit_reached"), Math.max(0, maxSeconds * 1000 - turn.runMs));
  return () => clearTimeout(timer);
}

/** Returns the error's message of a turn that `watchSeconds` stopped. */
export function secondsReached(turn: ClaimedTurn): string {
  return `The turn reached its agent's limit of ${limitsOf(turn).maxSeconds} s.`;
}

/**
 * Returns what a model did in the steps that it completed. A step that was broken off in the
 * middle of its text is left out; one that called tools stays, because they may have run.
 */
export function completedSteps(result: ModelResult): ModelResult {
  const { parts } = result.message;
  const from = parts.findLastIndex((part) => (part as { readonly type: string }).type === "step-start");
  if (from === -1 || parts.slice(from).some(isToolCall)) return result;
  const message: UiMessage = { ...result.message, parts: parts.slice(0, from) };
  return { ...result, message };
}
