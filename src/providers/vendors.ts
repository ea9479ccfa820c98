import type { ProviderType } from "../kernel/config.ts";
import type { Ctx } from "../kernel/context.ts";
import { directFetch, type Fetch, tenantFetch } from "../kernel/outbound/fetch.ts";

/** What it takes to call a provider. `id` is null for the operator's own (`PLATFORM_PROVIDER_*`). */
export interface ModelProvider {
  readonly id: string | null;
  readonly providerType: ProviderType;
  readonly baseUrl: string | null;
  readonly apiKey: string;
}

/** What a direct vendor's model ids begin with in this service, and do not at the vendor. */
const vendorPrefixes: Partial<Record<ProviderType, string>> = {
  llm_vendor_a: "openai/",
  llm_vendor_b: "anthropic/",
  llm_vendor_c: "google/",
};

/** Where each type's API is by default; the vendors' clients use the same. */
const defaultBaseUrls: Partial<Record<ProviderType, string>> = {
  llm_vendor_a: "https://api.openai.com/v1",
  llm_vendor_b: "https://api.anthropic.com/v1",
  llm_vendor_c: "https://generativelanguage.googleapis.com/v1beta",
  router_vendor: "https://openrouter.ai/api/v1",
};

/** The id a provider knows a model by: `openai/gpt-4o-mini` is `gpt-4o-mini` at its vendor, and the same elsewhere. */
export function upstreamModelId(type: ProviderType, model: string): string {
  const prefix = vendorPrefixes[type] ?? "";
  return model.startsWith(prefix) ? model.slice(prefix.length) : model;
}

/** The id this service shows for a model that a provider lists. */
export function shownModelId(type: ProviderType, upstreamId: string): string {
  return `${vendorPrefixes[type] ?? ""}${upstreamId}`;
}

/** The base URL of a provider's API, without a trailing slash; null for `gateway`, whose client knows it. */
export function baseUrlOf(provider: Pick<ModelProvider, "providerType" | "baseUrl">): string | null {
  const url = provider.baseUrl ?? defaultBaseUrls[provider.providerType] ?? null;
  return url === null ? null : url.replace(/\/+$/, "");
}

/** The fetch for a provider: guarded where a tenant chose the address, unless it is the process's own simulated model. */
export function providerFetch(ctx: Ctx, provider: Pick<ModelProvider, "id" | "baseUrl">): Fetch {
  const { id, baseUrl } = provider;
  const direct = id === null || baseUrl === null || baseUrl === ctx.simulatedModelUrl;
  return inUsualWords(direct ? directFetch : tenantFetch(ctx.config));
}

/** Deno's words for a network that fails are not known to the vendors' clients, which then try nothing again. */
function inUsualWords(send: Fetch): Fetch {
  return async (input, init) => {
    try {
      return await send(input, init);
    } catch (error) {
      const failed = error instanceof TypeError && init?.signal?.aborted !== true;
      if (failed) throw new TypeError("fetch failed", { cause: error });
      throw error;
    }
  };
}
