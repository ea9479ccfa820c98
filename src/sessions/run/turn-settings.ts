import type { AgentConfig } from "../../agents/schema.ts";
import { contextWindowOf } from "../../model/context-window.ts";
import type { ModelProvider } from "../../providers/client.ts";
import { type ModelSettings, settingsTaken, settingsWith } from "../../providers/model-settings.ts";
import type { ClaimedTurn } from "../state/claimed-turn.ts";

/** Returns how much a turn's model is to think: what the request set for this turn alone, or what the agent says. */
export function thinkingLevelOf(
  { thinkingLevel }: Pick<AgentConfig, "thinkingLevel">,
  { callerOptions }: Pick<ClaimedTurn, "callerOptions">,
): string | null {
  return callerOptions?.thinkingLevel ?? thinkingLevel;
}

/**
 * Returns the settings of a turn's calls of one model: the agent's, with what the request set for this turn alone, and
 * without what the model is known not to take, as a version that was saved for another one may have.
 */
export function turnSettings(
  { providerType, baseUrl }: Pick<ModelProvider, "providerType" | "baseUrl">,
  model: string,
  config: AgentConfig,
  turn: Pick<ClaimedTurn, "callerOptions">,
): ModelSettings {
  const { modelSettings: own = {} } = config;
  const asked = turn.callerOptions?.settings ?? {};
  const target = { providerType, baseUrl, model, thinkingLevel: thinkingLevelOf(config, turn) };
  return settingsTaken(target, settingsWith(target, own, asked));
}

/** Of a model's window at most this part is kept free because of `maxOutputTokens`. */
const answerPart = 0.5;

/**
 * Returns how many tokens of a model's window are kept free for the answer: what the agent says, and no less than the answer
 * may take, because vendors refuse a request whose prompt and answer do not fit together.
 */
export function reservedTokens(
  model: string,
  { compactionReserveTokens, modelSettings }: AgentConfig,
  { callerOptions }: Pick<ClaimedTurn, "callerOptions">,
): number {
  const answer = callerOptions?.settings?.maxOutputTokens ?? modelSettings?.maxOutputTokens ?? 0;
  return Math.max(compactionReserveTokens, Math.min(answer, Math.floor(contextWindowOf(model) * answerPart)));
}
