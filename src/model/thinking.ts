import type { LanguageModelCallOptions, streamText } from "ai";
import type { ProviderType } from "../kernel/config.ts";

type Reasoning = NonNullable<LanguageModelCallOptions["reasoning"]>;
type ProviderOptions = NonNullable<Parameters<typeof streamText>[0]["providerOptions"]>;

/** The part of a model call's settings that a thinking level decides. */
export interface ThinkingSettings {
  readonly reasoning?: Reasoning;
  readonly providerOptions?: ProviderOptions;
}

/**
 * Returns the settings of a model call for an agent's `thinkingLevel`; empty when it is
 * null. The router's client does not read the AI SDK's `reasoning`, so it gets the level
 * as a separate option.
 */
export function thinkingSettings(type: ProviderType, level: string | null): ThinkingSettings {
  if (level === null) return {};
  if (type === "router_vendor") return { providerOptions: { openrouter: { reasoning: { effort: level } } } };
  return { reasoning: level as Reasoning };
}
