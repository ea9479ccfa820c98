import { tooMany } from "../kernel/admission/too-many.ts";
import { SharedSlots } from "../kernel/async/shared-slots.ts";
import type { Ctx } from "../kernel/context.ts";
import { ApiError } from "../kernel/errors.ts";
import { type ThinkingLevels, thinkingLevels } from "./catalog.ts";
import { openProvider } from "./client.ts";
import { fetchModelIds } from "./discovery.ts";
import type { ProviderRow } from "./store.ts";
import { baseUrlOf, providerFetch, shownModelId, upstreamModelId } from "./vendors.ts";

/** Model lists that a process reads at once, and those of one tenant; each may have 20 pages of 2 MiB. */
const listsMax = 8;
const listsPerTenantMax = 2;
/** A further one waits this long for its place. */
const listWaitMs = 6_000;

/** The reading of model lists by one process. */
interface Lists {
  readonly slots: SharedSlots;
  /** Those in progress: callers that need the same list meanwhile share the result. */
  readonly underWay: Map<string, Promise<string[]>>;
}

const lists = new WeakMap<Ctx, Lists>();

/**
 * Returns the ids of a provider's models as agents name them, deduplicated and
 * sorted: `GET /v1/providers/:id/models`. Throws 422
 * `model_discovery_unsupported` for `custom`, 503 `model_validation_unavailable`
 * when the provider cannot be reached or refuses the key, and 429 when the tenant has too many lists read at once.
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
  const { slots, underWay } = listsOf(ctx);
  const running = underWay.get(row.id);
  if (running !== undefined) return running;
  const asked = inSlot(slots, row, () => {
    const provider = openProvider(ctx, row);
    return fetchModelIds(providerFetch(ctx, provider), { ...provider, baseUrl: baseUrlOf(provider) });
  }).finally(() => underWay.delete(row.id));
  underWay.set(row.id, asked);
  return asked;
}

async function inSlot<T>(slots: SharedSlots, { tenantId }: ProviderRow, read: () => Promise<T>): Promise<T> {
  const release = await slots.take(tenantId, AbortSignal.timeout(listWaitMs)).catch(() => {
    throw tooMany("The tenant has too many lists of models read at once.", listsPerTenantMax);
  });
  return read().finally(release);
}

function listsOf(ctx: Ctx): Lists {
  let kept = lists.get(ctx);
  if (kept === undefined) {
    kept = { slots: new SharedSlots(listsMax, listsPerTenantMax), underWay: new Map() };
    lists.set(ctx, kept);
  }
  return kept;
}
