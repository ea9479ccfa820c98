import type { ProviderType } from "../kernel/config.ts";
import type { Ctx } from "../kernel/context.ts";
import { directFetch, type Fetch, tenantFetch } from "../kernel/outbound/fetch.ts";
import { modelRequests } from "../kernel/telemetry/metrics.ts";
import { boundedModelFetch } from "./bounds.ts";

/** What is needed to call a provider. `id` and `tenantId` are null for the operator's own (`PLATFORM_PROVIDER_*`). */
export interface ModelProvider {
  readonly id: string | null;
  readonly tenantId: string | null;
  readonly providerType: ProviderType;
  readonly baseUrl: string | null;
  readonly apiKey: string;
}

/** The prefix of a direct vendor's model ids in this service; at the vendor they have none. */
const vendorPrefixes: Partial<Record<ProviderType, string>> = {
  llm_vendor_a: "openai/",
  llm_vendor_b: "anthropic/",
  llm_vendor_c: "google/",
};

/** The default base URL of each type's API; the vendors' clients use the same. */
const defaultBaseUrls: Partial<Record<ProviderType, string>> = {
  llm_vendor_a: "https://api.openai.com/v1",
  llm_vendor_b: "https://api.anthropic.com/v1",
  llm_vendor_c: "https://generativelanguage.googleapis.com/v1beta",
  router_vendor: "https://openrouter.ai/api/v1",
};

/**
 * Returns the id by which a provider knows a model: `openai/gpt-4o-mini` is `gpt-4o-mini`
 * at its vendor, and unchanged at other providers.
 */
export function upstreamModelId(type: ProviderType, model: string): string {
  const prefix = vendorPrefixes[type] ?? "";
  return model.startsWith(prefix) ? model.slice(prefix.length) : model;
}

/** Returns the id that this service shows for a model that a provider lists. */
export function shownModelId(type: ProviderType, upstreamId: string): string {
  return `${vendorPrefixes[type] ?? ""}${upstreamId}`;
}

/** Returns the base URL of a provider's API, without a trailing slash; null for `gateway`, whose client knows it. */
export function baseUrlOf(provider: Pick<ModelProvider, "providerType" | "baseUrl">): string | null {
  const url = provider.baseUrl ?? defaultBaseUrls[provider.providerType] ?? null;
  return url === null ? null : url.replace(/\/+$/, "");
}

/**
 * Returns the fetch function for a provider: `tenantFetch` where a tenant chose the
 * address, unless that is the process's own simulated model. Its responses are bounded, and
 * what its client cannot read is left out of answers (`boundedModelFetch`).
 */
export function providerFetch(
  ctx: Ctx,
  provider: Pick<ModelProvider, "id" | "tenantId" | "baseUrl" | "providerType">,
): Fetch {
  const { id, tenantId, baseUrl, providerType } = provider;
  const direct = id === null || baseUrl === null || baseUrl === ctx.simulatedModelUrl;
  const send = counted(withUsualError(direct ? directFetch : tenantFetch(ctx.config, tenantId)), providerType);
  return boundedModelFetch(send, { idleMs: ctx.config.modelIdleSeconds * 1000, tenantId, providerType });
}

/** Statuses that stand for one cause each. */
const toldStatuses = new Set([400, 401, 402, 403, 404, 408, 413, 429, 500, 502, 503, 504, 529]);

/** Counts what comes of requests, for `parley_model_requests_total`. One that its caller gave up is not counted. */
function counted(send: Fetch, provider: ProviderType): Fetch {
  return async (input, init) => {
    try {
      const response = await send(input, init);
      const { status } = response;
      modelRequests.inc({
        provider,
        status: toldStatuses.has(status) ? String(status) : `${Math.floor(status / 100)}xx`,
      });
      return response;
    } catch (error) {
      if (init?.signal?.aborted !== true) modelRequests.inc({ provider, status: "unreachable" });
      throw error;
    }
  };
}

/**
 * Gives a network failure the message by which the vendors' clients know that they may
 * retry; Deno's message is another one.
 */
function withUsualError(send: Fetch): Fetch {
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
