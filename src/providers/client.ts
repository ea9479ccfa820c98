import { createAnthropic } from "@ai-sdk/anthropic";
import { createGateway } from "@ai-sdk/gateway";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createOpenRouter } from "@openrouter/ai-sdk-provider";
import type { LanguageModel } from "ai";
import type { Ctx } from "../kernel/context.ts";
import type { ProviderRow } from "./store.ts";
import { baseUrlOf, type ModelProvider, providerFetch, upstreamModelId } from "./vendors.ts";

export type { ModelProvider } from "./vendors.ts";

/** Returns the model of an id from a provider's client. */
type ModelMaker = (modelId: string) => LanguageModel;

/**
 * A process caches this many clients. To make one takes more time than a turn should
 * spend; to keep one costs little.
 */
const clientsMax = 1_000;
const clients = new WeakMap<Ctx, LruCache<ModelMaker>>();
/**
 * A client caches this many models: some vendors' clients build their response schema
 * again for each, a tenth of a turn's time.
 */
const modelsMax = 50;

/**
 * Returns a provider with its key unsealed. Throws when the service's encryption key is
 * not the one it was sealed with.
 */
export function openProvider(ctx: Ctx, row: ProviderRow): ModelProvider {
  const { id, tenantId, providerType, baseUrl } = row;
  return { id, tenantId, providerType, baseUrl, apiKey: ctx.sealer.open(row.sealedKey, id) };
}

/** Returns the AI SDK's model for a provider and a model id as agents name it. Makes no request. */
export function languageModel(ctx: Ctx, provider: ModelProvider, model: string): LanguageModel {
  return clientOf(ctx, provider)(upstreamModelId(provider.providerType, model));
}

function clientOf(ctx: Ctx, provider: ModelProvider): ModelMaker {
  let kept = clients.get(ctx);
  if (kept === undefined) {
    kept = new LruCache(clientsMax);
    clients.set(ctx, kept);
  }
  // Type, address and key of a provider never change, so its id identifies them; the operator's provider has no
  // id.
  const name = provider.id ?? JSON.stringify([provider.providerType, provider.baseUrl, provider.apiKey]);
  return kept.get(name, () => {
    const make = makeClient(ctx, provider);
    const models = new LruCache<LanguageModel>(modelsMax);
    return (modelId) => models.get(modelId, () => make(modelId));
  });
}

/** A cache by name; when it is full, the least recently used entry is removed. */
class LruCache<T> {
  readonly #max: number;
  readonly #kept = new Map<string, T>();

  constructor(max: number) {
    this.#max = max;
  }

  get(name: string, make: () => T): T {
    const found = this.#kept.get(name) ?? make();
    this.#kept.delete(name);
    this.#kept.set(name, found); // The map's last entry is the last used.
    const oldest = this.#kept.keys().next().value;
    if (this.#kept.size > this.#max && oldest !== undefined) this.#kept.delete(oldest);
    return found;
  }
}

function makeClient(ctx: Ctx, provider: ModelProvider): ModelMaker {
  const { apiKey, baseUrl } = provider;
  const fetch = providerFetch(ctx, provider) as typeof globalThis.fetch;
  const settings = { apiKey, fetch, baseURL: baseUrlOf(provider) ?? "" };
  switch (provider.providerType) {
    case "llm_vendor_a": {
      const openai = createOpenAI(settings);
      // OpenAI's own API gets the Responses API, where its reasoning models keep their reasoning between tool
      // calls. A server at another address mostly has only Chat Completions.
      return (id) => (baseUrl === null ? openai.responses(id) : openai.chat(id));
    }
    case "llm_vendor_b":
      return createAnthropic(settings);
    case "llm_vendor_c":
      return createGoogle(settings);
    case "router_vendor": {
      const openrouter = createOpenRouter({ ...settings, compatibility: "strict" });
      return (id) => openrouter.chat(id, { usage: { include: true } });
    }
    case "gateway":
      return createGateway({ apiKey, fetch, ...(baseUrl === null ? {} : { baseURL: baseUrl }) });
    case "custom": {
      const custom = createOpenAICompatible({
        ...settings,
        name: "custom",
        includeUsage: true,
        supportsStructuredOutputs: true,
      });
      return (id) => withoutSecondCheck(custom(id));
    }
  }
}

/**
 * Takes from a model of `@ai-sdk/openai-compatible` (3.0.92) the schema against which it checks each event of an answer:
 * `ChatEvents` has written that event, of fields that it has checked. The check took a quarter of all that the worker spends on
 * an answer. A client that has no such field any more checks again.
 */
function withoutSecondCheck(model: LanguageModel): LanguageModel {
  return Object.assign(model, { chunkSchema: undefined });
}
