import { getAnthropicLanguageModelEntry } from "@ai-sdk/anthropic/internal";
import type { ProviderType } from "../kernel/config.ts";
import { makerOf, openaiEntry } from "./catalog.ts";

/** What a model's answers are like, and how long; what is left out is the vendor's own default. */
export interface ModelSettings {
  readonly temperature?: number;
  readonly topP?: number;
  /** Of one model call, thoughts included where the vendor counts them. */
  readonly maxOutputTokens?: number;
  readonly stopSequences?: readonly string[];
  readonly seed?: number;
}

/** A model that settings are for. */
export interface SettingsTarget {
  readonly providerType: ProviderType;
  /** Null: the vendor's own. */
  readonly baseUrl: string | null;
  readonly model: string;
  readonly thinkingLevel: string | null;
}

/** A setting that a model is known not to take. `message` says why. */
export interface SettingIssue {
  readonly setting: keyof ModelSettings;
  readonly message: string;
}

/** What a vendor publishes of its settings; null: it takes any, or it is not known. */
interface TakenSettings {
  readonly temperatureMax: number | null;
  /** Why it takes neither `temperature` nor `topP`, but for 1, which is what it does anyway; null: it takes them. */
  readonly fixedSampling: string | null;
  /** Whether it takes only one of `temperature` and `topP`. */
  readonly oneSampling: boolean;
  readonly outputTokensMin: number;
  readonly outputTokensMax: number | null;
  /** 0: it takes none. */
  readonly stopSequencesMax: number | null;
  readonly blankStopSequences: boolean;
  readonly seed: boolean;
}

const anySettings: TakenSettings = {
  temperatureMax: null,
  fixedSampling: null,
  oneSampling: false,
  outputTokensMin: 1,
  outputTokensMax: null,
  stopSequencesMax: null,
  blankStopSequences: true,
  seed: true,
};

/** OpenAI's Chat Completions take this many, Google this many. */
const openaiStopSequencesMax = 4;
const googleStopSequencesMax = 5;
/** OpenAI's Responses API takes no fewer. */
const openaiOutputTokensMin = 16;

/**
 * Returns why a model does not take some of these settings, as its vendor publishes it or as the catalogue of its client has
 * it; none where nothing is known. What is named here would be refused by the vendor, or dropped by its client without a word.
 */
export function settingIssues(target: SettingsTarget, settings: ModelSettings): SettingIssue[] {
  const taken = takenBy(target);
  const { temperature, topP, maxOutputTokens, stopSequences = [], seed } = settings;
  const issues: SettingIssue[] = [];
  const refuse = (setting: keyof ModelSettings, message: string) => issues.push({ setting, message });
  const { temperatureMax, fixedSampling, outputTokensMax, outputTokensMin, stopSequencesMax } = taken;
  for (const [setting, value] of [
    ["temperature", temperature],
    ["topP", topP],
  ] as const)
    if (fixedSampling !== null && value !== undefined && value !== 1) refuse(setting, fixedSampling);
  if (fixedSampling === null && temperature !== undefined) {
    if (temperatureMax !== null && temperature > temperatureMax)
      refuse("temperature", `must be at most ${temperatureMax} for this model`);
    if (taken.oneSampling && topP !== undefined) refuse("topP", "is not taken beside a temperature by this model");
  }
  if (maxOutputTokens !== undefined) {
    if (maxOutputTokens < outputTokensMin)
      refuse("maxOutputTokens", `must be at least ${outputTokensMin} for this model`);
    if (outputTokensMax !== null && maxOutputTokens > outputTokensMax)
      refuse("maxOutputTokens", `must be at most ${outputTokensMax} for this model`);
  }
  if (stopSequencesMax === 0 && stopSequences.length > 0) refuse("stopSequences", "is not taken by this model");
  else if (stopSequencesMax !== null && stopSequences.length > stopSequencesMax)
    refuse("stopSequences", `must have at most ${stopSequencesMax} items for this model`);
  else if (!taken.blankStopSequences && stopSequences.some((text) => text.trim() === ""))
    refuse("stopSequences", "must hold more than blanks in each item for this model");
  if (seed !== undefined && !taken.seed) refuse("seed", "is not taken by this model");
  return issues;
}

/** Returns the settings without those that the model is known not to take. */
export function settingsTaken(target: SettingsTarget, settings: ModelSettings): ModelSettings {
  const refused = new Set(settingIssues(target, settings).map(({ setting }) => setting));
  if (refused.size === 0) return settings;
  return Object.fromEntries(
    Object.entries(settings).filter(([setting]) => !refused.has(setting as keyof ModelSettings)),
  );
}

/** Returns an agent's settings with what a request sets for one response; of two of which the model takes one, the request's. */
export function settingsWith(target: SettingsTarget, own: ModelSettings, asked: ModelSettings): ModelSettings {
  const merged = { ...own, ...asked };
  if (!takenBy(target).oneSampling || asked.temperature !== undefined || asked.topP === undefined) return merged;
  const { temperature: _replaced, ...rest } = merged;
  return rest;
}

function takenBy(target: SettingsTarget): TakenSettings {
  const { providerType, model } = target;
  const { maker, id } = makerOf(providerType, model);
  switch (maker) {
    case "openai":
      return openaiTakes(target, id);
    case "anthropic":
      return anthropicTakes(target, id);
    case "google":
      return { ...anySettings, stopSequencesMax: googleStopSequencesMax };
    default:
      return anySettings;
  }
}

function openaiTakes({ providerType, baseUrl, thinkingLevel }: SettingsTarget, id: string): TakenSettings {
  // At OpenAI's own address, and by the gateway, its Responses API is called, which has neither.
  const isResponses = providerType === "gateway" || (providerType === "llm_vendor_a" && baseUrl === null);
  const sampling = openaiSampling(id);
  const isFixed = sampling === "fixed" || (sampling === "without thinking" && thinkingLevel !== "none");
  const cure =
    sampling === "fixed" ? "is not taken by this model" : 'is taken by this model only with the thinking level "none"';
  return {
    ...anySettings,
    fixedSampling: isFixed ? cure : null,
    outputTokensMin: isResponses ? openaiOutputTokensMin : 1,
    stopSequencesMax: isResponses ? 0 : openaiStopSequencesMax,
    seed: !isResponses,
  };
}

/**
 * Returns when a model of OpenAI takes a temperature. Those that think do not; some of them do while they are told not to. The
 * catalogue has no entry for each of them, so that the client goes by the name of the family, as this does.
 */
function openaiSampling(id: string): "free" | "without thinking" | "fixed" {
  const reasoning = openaiEntry(id)?.capabilities.language?.reasoning;
  if (reasoning !== undefined && reasoning.support !== "unknown") {
    if (reasoning.support !== true) return "free";
    return reasoning.sampling === "reasoning-effort-none" ? "without thinking" : "fixed";
  }
  if (/^o\d/.test(id)) return "fixed";
  const [, major = "0", minor = "0"] = /^gpt-(\d+)(?:\.(\d+))?(?:-|$)/.exec(id) ?? [];
  if (Number(major) < 5 || /^gpt-\d+-chat/.test(id)) return "free";
  return Number(major) === 5 && Number(minor) > 0 ? "without thinking" : "fixed";
}

function anthropicTakes({ providerType, thinkingLevel }: SettingsTarget, routed: string): TakenSettings {
  // Routers write 4.5 where Anthropic writes 4-5.
  const { capabilities, requestConfig } = getAnthropicLanguageModelEntry(routed.replaceAll(".", "-"));
  const isKnown = requestConfig?.language.knownModel === true;
  // Of a model that it does not know, Anthropic's client sends no temperature.
  const isFixed = capabilities.language.sampling.temperature !== true && (isKnown || providerType !== "router_vendor");
  const thinks = thinkingLevel !== null && thinkingLevel !== "none";
  const why = isFixed ? "is not taken by this model" : "is not taken beside a thinking level by this model";
  return {
    ...anySettings,
    temperatureMax: 1,
    fixedSampling: isFixed || thinks ? why : null,
    oneSampling: true,
    outputTokensMax: isKnown ? requestConfig.language.maxOutputTokens : null,
    blankStopSequences: false,
    seed: false,
  };
}
