import { getAnthropicLanguageModelEntry } from "@ai-sdk/anthropic/internal";
import { getGoogleLanguageModelEntry } from "@ai-sdk/google/internal";
import { openaiModelCatalog } from "@ai-sdk/openai/internal";
import type { ProviderType } from "../kernel/config.ts";

/**
 * Which thinking levels a model takes. The source is the model catalogue that
 * the AI SDK's vendor packages carry: maintained with every release, bundled
 * (no network), and the same table by which the SDK rounds a level that a model
 * does not have. So a level named here is sent exactly as chosen.
 */
export interface ThinkingLevels {
  /** False: the catalogue has no information. */
  readonly known: boolean;
  /** The AI SDK's `reasoning` values, from the least to the most; empty when only the provider's default exists. */
  readonly levels: string[];
}

/** Every level, in the SDK's order. */
const allLevels = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
/** Levels of a model that takes a token budget: the SDK converts each to a share of the model's maximum output. */
const budgetLevels = ["minimal", "low", "medium", "high", "xhigh", "max"];

const unknown: ThinkingLevels = { known: false, levels: [] };
const providerDefaultOnly: ThinkingLevels = { known: true, levels: [] };

type VendorLookup = (id: string) => ThinkingLevels;

const lookups: Readonly<Record<string, VendorLookup>> = {
  openai: ofOpenAi,
  anthropic: ofAnthropic,
  google: ofGoogle,
};
const vendorOfType: Partial<Record<ProviderType, string>> = {
  llm_vendor_a: "openai",
  llm_vendor_b: "anthropic",
  llm_vendor_c: "google",
};

/** Returns a model's thinking levels. */
export function thinkingLevels(type: ProviderType, model: string): ThinkingLevels {
  const { maker, id } = makerOf(type, model);
  if (maker === null || !Object.hasOwn(lookups, maker)) return unknown;
  const found = (lookups[maker] as VendorLookup)(id);
  // The router's API has no `max`.
  return type === "router_vendor" ? { ...found, levels: found.levels.filter((level) => level !== "max") } : found;
}

/** Who made a model, and the id by which the maker's catalogue has it; null for one of a custom endpoint, and where the id names nobody. */
export interface MadeModel {
  readonly maker: string | null;
  readonly id: string;
}

/** Returns a model's maker. The ids of a router and of a gateway name it; a custom endpoint's ids are not reliable. */
export function makerOf(type: ProviderType, model: string): MadeModel {
  if (type === "custom") return { maker: null, id: model };
  const slash = model.indexOf("/");
  const named = slash === -1 ? null : model.slice(0, slash);
  const maker = vendorOfType[type] ?? named;
  const id = named === maker ? model.slice(slash + 1) : model;
  // A router adds variants (`:free`) to an id.
  return { maker, id: id.replace(/:.*$/, "").toLowerCase() };
}

function ofOpenAi(id: string): ThinkingLevels {
  const reasoning = openaiEntry(id)?.capabilities.language?.reasoning;
  if (reasoning === undefined) return unknown;
  if (reasoning.support === false) return providerDefaultOnly;
  return reasoning.efforts === undefined ? unknown : inOrder(reasoning.efforts);
}

/** Returns the entry of OpenAI's catalogue for a model; undefined where it has none. A dated snapshot has the abilities of its model. */
export function openaiEntry(id: string) {
  return [id, id.replace(/-\d{4}-\d{2}-\d{2}$/, "")]
    .filter((name) => Object.hasOwn(openaiModelCatalog, name))
    .map((name) => openaiModelCatalog[name])[0];
}

function ofAnthropic(id: string): ThinkingLevels {
  // Routers write 4.5 where Anthropic writes 4-5.
  const name = id.replaceAll(".", "-");
  // Thinking was introduced with 3.7; the catalogue does not distinguish older models.
  if (/^claude-(2|3-(?!7)|instant)/.test(name)) return providerDefaultOnly;
  const { capabilities, requestConfig } = getAnthropicLanguageModelEntry(name);
  if (requestConfig?.language.knownModel !== true) return unknown;
  const { reasoning } = capabilities.language;
  if (reasoning.support === false) return providerDefaultOnly;
  const adaptive = reasoning.supportsXhighEffort
    ? ["low", "medium", "high", "xhigh", "max"]
    : ["low", "medium", "high", "max"];
  return inOrder([...(reasoning.canDisable ? ["none"] : []), ...(reasoning.adaptive ? adaptive : budgetLevels)]);
}

function ofGoogle(id: string): ThinkingLevels {
  if (/image|tts|live|audio|embedding/.test(id)) return unknown;
  const { reasoning } = getGoogleLanguageModelEntry(id).capabilities.language;
  if (/^gemini-(3|4)/.test(id)) return reasoning.efforts === undefined ? unknown : inOrder(reasoning.efforts);
  // Before Gemini 3 a level is a token budget, which was introduced with 2.5.
  if (/^gemini-2\.5-/.test(id)) return inOrder([...(reasoning.minBudget === 0 ? ["none"] : []), ...budgetLevels]);
  return /^(gemini-(1|2\.0)|gemma-)/.test(id) ? providerDefaultOnly : unknown;
}

function inOrder(levels: readonly string[]): ThinkingLevels {
  return { known: true, levels: allLevels.filter((level) => levels.includes(level)) };
}
