import type { AgentConfig, FallbackModel } from "../../agents/schema.ts";
import type { Ctx } from "../../kernel/context.ts";
import { contextWindowOf } from "../../model/context-window.ts";
import type { OpenFallback } from "../../model/model-chain.ts";
import { describeModelError } from "../../model/run-model.ts";
import { type ThinkingSettings, thinkingSettings } from "../../model/thinking.ts";
import { thinkingLevels } from "../../providers/catalog.ts";
import { languageModel, type ModelProvider, openProvider } from "../../providers/client.ts";
import { findProvider } from "../../providers/store.ts";
import type { ClaimedTurn } from "../state/claimed-turn.ts";
import type { ClaimUsage } from "./claim-usage.ts";

/** What the fallback models of a claim are opened with. */
interface FallbackRequest {
  readonly config: AgentConfig;
  /** The agent's own model. */
  readonly model: string;
  /** What system text and tools take of a window. */
  readonly fixedTokens: number;
  readonly usage: ClaimUsage;
}

/**
 * Returns the fallback models of a claim. Each is read and opened only when it is called, so
 * that they cost nothing while the agent's own model answers. One whose provider was deleted,
 * or cannot be read now, is passed over.
 */
export function fallbacksOf(ctx: Ctx, turn: ClaimedTurn, request: FallbackRequest): readonly OpenFallback[] {
  return request.config.fallbackModels.map((fallback) => async (failure) => {
    const provider = await providerOf(ctx, turn, fallback);
    if (provider === null) return null;
    const { model } = fallback;
    const reason = describeModelError(failure);
    ctx.log.warn({ turnId: turn.id, requestId: turn.requestId, model, reason }, "a fallback model is called");
    return {
      model: languageModel(ctx, provider, model),
      thinking: thinkingOf(provider, model, request.config.thinkingLevel),
      roomTokens: roomOf(turn, model, request),
      onCall: request.usage.ofOther(provider, model),
    };
  });
}

async function providerOf(ctx: Ctx, turn: ClaimedTurn, { providerId }: FallbackModel): Promise<ModelProvider | null> {
  try {
    const row = await findProvider(ctx.sql, turn.tenantId, providerId);
    return row === null ? null : openProvider(ctx, row);
  } catch (error) {
    ctx.log.warn({ turnId: turn.id, providerId, err: error }, "a fallback model's provider cannot be opened");
    return null;
  }
}

/** Returns the agent's thinking level for this model; none where the model does not take it. */
function thinkingOf({ providerType }: ModelProvider, model: string, level: string | null): ThinkingSettings {
  const { known, levels } = thinkingLevels(providerType, model);
  const takesIt = level === null || !known || levels.includes(level);
  return takesIt ? thinkingSettings(providerType, level) : {};
}

/** The transcript was fitted into the window of the agent's own model; null where that is no larger. */
function roomOf(turn: ClaimedTurn, model: string, { config, model: own, fixedTokens }: FallbackRequest): number | null {
  const isFitted = config.autoCompaction && turn.sessionId !== null;
  if (!isFitted || contextWindowOf(model) >= contextWindowOf(own)) return null;
  return Math.max(0, contextWindowOf(model) - config.compactionReserveTokens - fixedTokens);
}
