import { calcPrice, type ModelPrice } from "@pydantic/genai-prices";
import type { ProviderType } from "../kernel/config.ts";
import type { OwnPrices } from "../prices/own-prices.ts";
import type { Cost, TokenCounts } from "../usage/tokens.ts";

/** A model by which calls are made, and where. */
export interface PricedModel {
  readonly providerId: string | null;
  readonly providerType: ProviderType;
  readonly baseUrl: string | null;
  readonly model: string;
}

/** The vendors by the names of the catalogue. */
const vendors: Partial<Record<ProviderType, string>> = {
  llm_vendor_a: "openai",
  llm_vendor_b: "anthropic",
  llm_vendor_c: "google",
  router_vendor: "openrouter",
};

/** A price that was looked up; some change by the time of day, so none is kept for longer than a minute that has ended. */
interface KnownPrice {
  readonly price: ModelPrice | null;
  readonly untilMs: number;
}

const known = new Map<string, KnownPrice>();
/** Tenants choose the model ids, so the cache is bounded. */
const knownMax = 1_000;
const minuteMs = 60_000;

/** A call that is said to cost more costs this, in picodollars: a provider says what it likes, and the sums of a turn have to hold. */
const callPicosMax = 9_000 * 1e12;

/** Returns what a model call costs by the tenant's own price, where it has one, else by the catalogue's of this moment. */
export function costOfCall(model: PricedModel, tokens: TokenCounts, atMs: number, own: OwnPrices | null = null): Cost {
  const costPico = own?.costOf(model.providerId, model.model, tokens) ?? listedCost(model, tokens, atMs);
  if (costPico === null) return { costPico, costComplete: tokens.inputTokens + tokens.outputTokens === 0 };
  return { costPico: Math.min(costPico, callPicosMax), costComplete: true };
}

function listedCost(model: PricedModel, tokens: TokenCounts, atMs: number): number | null {
  const price = priceOf(model, atMs);
  return price === null ? null : picosOf(price, tokens);
}

function priceOf(priced: PricedModel, atMs: number): ModelPrice | null {
  const key = `${priced.providerType} ${priced.providerType === "custom" ? priced.baseUrl : ""} ${priced.model}`;
  const found = known.get(key);
  if (found !== undefined && atMs < found.untilMs) return found.price;
  // A look-up takes half a millisecond.
  const price = lookUp(priced, new Date(atMs));
  if (known.size >= knownMax) known.clear();
  known.set(key, price);
  return price.price;
}

function lookUp({ providerType, baseUrl, model }: PricedModel, timestamp: Date): KnownPrice {
  const [vendor = "", ...rest] = model.split("/");
  const alone = rest.length === 0 ? model : rest.join("/");
  const tries =
    providerType === "gateway"
      ? [{ id: alone, providerId: vendor }]
      : providerType === "custom"
        ? [{ id: model, providerApiUrl: baseUrl ?? "" }, { id: model }, { id: alone }]
        : providerType === "router_vendor"
          ? [{ id: model, providerId: vendors.router_vendor }]
          : [{ id: alone, providerId: vendors[providerType] }];
  for (const { id, ...at } of tries) {
    const found = priceIn(id, { ...at, timestamp });
    if (found === null) continue;
    const isFixed = !Array.isArray(found.model.prices);
    const untilMs = isFixed ? Number.POSITIVE_INFINITY : (Math.floor(timestamp.getTime() / minuteMs) + 1) * minuteMs;
    return { price: found.model_price, untilMs };
  }
  return { price: null, untilMs: Number.POSITIVE_INFINITY };
}

function priceIn(id: string, options: object) {
  try {
    return calcPrice({ input_tokens: 0, output_tokens: 0 }, id, options);
  } catch {
    return null;
  }
}

/** Where a cached or written token has no price, it costs as input. */
function picosOf(price: ModelPrice, { inputTokens, outputTokens, ...parts }: TokenCounts): number {
  const { cachedInputTokens, cacheWriteTokens } = parts;
  // A dollar for a million tokens is a million picodollars for one.
  const each = (field: string): number | null => {
    const said = price[field];
    if (said === undefined) return null;
    if (typeof said === "number") return Math.round(said * 1e6);
    const tier = said.tiers.filter(({ start }) => inputTokens > start).at(-1);
    return Math.round((tier?.price ?? said.base) * 1e6);
  };
  const input = each("input_mtok") ?? 0;
  return (
    (inputTokens - cachedInputTokens - cacheWriteTokens) * input +
    cachedInputTokens * (each("cache_read_mtok") ?? input) +
    cacheWriteTokens * (each("cache_write_mtok") ?? input) +
    outputTokens * (each("output_mtok") ?? 0)
  );
}
