import type { Ctx } from "../kernel/context.ts";
import { ApiError } from "../kernel/errors.ts";
import { type ThinkingLevels, thinkingLevels } from "./catalog.ts";
import { openProvider } from "./client.ts";
import { fetchModelIds } from "./discovery.ts";
import type { ProviderRow } from "./store.ts";
import { baseUrlOf, providerFetch, shownModelId, upstreamModelId } from "./vendors.ts";

/** Requests for model lists in progress: callers that need the same list meanwhile share the result. */
const underWay = new WeakMap<Ctx, Map<string, Promise<string[]>>>();

/**
 * Returns the ids of a provider's models as agents name them, deduplicated and
 * sorted: `GET /v1/providers/:id/models`. Throws 422
 * `model_discovery_unsupported` for `custom`, 503 `model_validation_unavailable`
 * when the provider cannot be reached or refuses the key.
 */
export async function listModels(ctx: Ctx, provider: ProviderRow): Promise<string[]> {
  if (provider.providerType === "custom") throw new ApiError("model_discovery_unsupported");
  const ids = await upstreamIds(ctx, provider);
  return ids.map((id) => shownModelId(provider.providerType, id)).sort();
}

/**
 * Checks that a provider offers a model. Throws 400 `model_not_found`, 503
 * `model_validation_unavailable`. `custom`, `gateway` and a server without a list of models take any model.
 */
export async function checkModel(ctx: Ctx, provider: ProviderRow, model: string): Promise<void> {
  if (provider.providerType === "custom" || provider.providerType === "gateway") return;
  const ids = await upstreamIds(ctx, provider).catch((error: unknown) => {
    if (error instanceof ApiError && error.reason === "model_discovery_unsupported") return null;
    throw error;
  });
  if (ids !== null && !ids.includes(upstreamModelId(provider.providerType, model)))
    throw new ApiError("model_not_found");
}

/** Returns the thinking levels a model takes, from the bundled catalogue; `known` is false for a model that is not in it. */
export async function thinkingLevelsOf(_ctx: Ctx, provider: ProviderRow, model: string): Promise<ThinkingLevels> {
  return thinkingLevels(provider.providerType, model);
}

function upstreamIds(ctx: Ctx, row: ProviderRow): Promise<string[]> {
  let shared = underWay.get(ctx);
  if (shared === undefined) {
    shared = new Map();
    underWay.set(ctx, shared);
  }
  const running = shared.get(row.id);
  if (running !== undefined) return running;
  const provider = openProvider(ctx, row);
  const asked = fetchModelIds(providerFetch(ctx, provider), { ...provider, baseUrl: baseUrlOf(provider) }).finally(() =>
    shared.delete(row.id),
  );
  shared.set(row.id, asked);
  return asked;
}
