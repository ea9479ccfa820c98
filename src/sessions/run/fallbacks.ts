import type { FallbackModel } from "../../agents/schema.ts";
import type { Ctx } from "../../kernel/context.ts";
import { contextWindowOf } from "../../model/context-window.ts";
import { describeModelError } from "../../model/describe-error.ts";
import type { OpenModel } from "../../model/model-chain.ts";
import { type ThinkingSettings, thinkingSettings } from "../../model/thinking.ts";
import { thinkingLevels } from "../../providers/catalog.ts";
import { languageModel, type ModelProvider, openProvider } from "../../providers/client.ts";
import { findProvider } from "../../providers/store.ts";
import type { ClaimedTurn } from "../state/claimed-turn.ts";
import type { ClaimUsage } from "./claim-usage.ts";
import type { PreparedTurn } from "./prepare.ts";
import type { StepLog } from "./step-log.ts";
import { reservedTokens, thinkingLevelOf, turnSettings } from "./turn-settings.ts";

/** What is told which model makes the next calls. */
interface Told {
  readonly usage: ClaimUsage;
  readonly steps: StepLog;
}

/**
 * Returns the models of a claim, the agent's own and its fallbacks; none where it has no
 * fallbacks. A fallback is read and opened only when it is called, so that it costs nothing
 * while the agent's own model answers. One whose provider was deleted, or cannot be read now,
 * is passed over.
 */
export function chainOf(ctx: Ctx, turn: ClaimedTurn, prepared: PreparedTurn, told: Told): readonly OpenModel[] {
  const { config, provider: own } = prepared;
  if (config.fallbackModels.length === 0) return [];
  const openOwn: OpenModel = async (failure) => {
    tell(told, own, prepared.model, { failure, isOwn: true });
    const { languageModel: model, thinking, settings } = prepared;
    return { model, thinking, settings, roomTokens: null, isForeign: false };
  };
  const fallbacks = config.fallbackModels.map(
    (fallback): OpenModel =>
      async (failure) => {
        const provider = await providerOf(ctx, turn, fallback);
        if (provider === null) return null;
        const { model } = fallback;
        if (failure !== null) {
          const reason = describeModelError(failure);
          ctx.log.warn({ turnId: turn.id, requestId: turn.requestId, model, reason }, "a fallback model is called");
        }
        tell(told, provider, model, { failure, isOwn: false });
        return {
          model: languageModel(ctx, provider, model),
          thinking: thinkingOf(provider, model, thinkingLevelOf(config, turn)),
          settings: turnSettings(provider, model, config, turn),
          roomTokens: roomOf(turn, model, prepared),
          isForeign: provider.id !== own.id,
        };
      },
  );
  return [openOwn, ...fallbacks];
}

function tell(
  { usage, steps }: Told,
  provider: ModelProvider,
  model: string,
  { failure, isOwn }: { readonly failure: unknown; readonly isOwn: boolean },
): void {
  if (failure !== null) steps.fallsBack();
  steps.uses(provider, model);
  usage.callsBy(provider, model, isOwn);
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

/** Returns the turn's thinking level for this model; none where the model does not take it. */
function thinkingOf({ providerType }: ModelProvider, model: string, level: string | null): ThinkingSettings {
  const { known, levels } = thinkingLevels(providerType, model);
  const takesIt = level === null || !known || levels.includes(level);
  return takesIt ? thinkingSettings(providerType, level) : {};
}

/** The transcript was fitted into the window of the agent's own model; null where that is no larger. */
function roomOf(turn: ClaimedTurn, model: string, { config, model: own, fixedTokens }: PreparedTurn): number | null {
  const isFitted = config.autoCompaction && turn.sessionId !== null;
  if (!isFitted || contextWindowOf(model) >= contextWindowOf(own)) return null;
  return Math.max(0, contextWindowOf(model) - reservedTokens(model, config, turn) - fixedTokens);
}
