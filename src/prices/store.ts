import { type AnySql, json, type Tx } from "../kernel/database/client.ts";
import { invalid } from "../kernel/errors.ts";
import { readDollars } from "../kernel/http/dollars.ts";
import { lockProvider } from "../providers/store.ts";
import { type ModelPrice, OwnPrices, priceKeyOf } from "./own-prices.ts";
import { type ModelPricesAsked, priceUsdMax } from "./schema.ts";

/** A tenant's own prices as they are shown. */
export interface ModelPrices {
  readonly prices: readonly ModelPrice[];
}

/** Returns a tenant's own prices. */
export async function readPrices(sql: AnySql, tenantId: string): Promise<ModelPrices> {
  return { prices: (await readRow(sql, tenantId)).prices };
}

/**
 * Replaces a tenant's own prices, and returns those before; null where they are the same. What is booked stays as it is.
 * Throws 400 for a provider that is missing.
 */
export async function replacePrices(
  inner: Tx,
  tenantId: string,
  prices: readonly ModelPrice[],
): Promise<ModelPrices | null> {
  await requireProviders(inner, tenantId, prices);
  const [before] = await inner<ModelPrices[]>`
    with before as (
      select id, coalesce(model_prices, '[]') as prices from tenants where id = ${tenantId} for no key update
    )
    update /* prices.replace */ tenants n set model_prices = asked.prices, prices_version = prices_version + 1
    from before, (select ${json(inner, prices)}::jsonb as prices) asked
    where n.id = before.id and before.prices <> asked.prices
    returning before.prices`;
  return before ?? null;
}

/** Returns prices as they are stored. Throws 400 for a model that has two at a provider, and for what is no decimal. */
export function pricesAsked({ prices }: ModelPricesAsked): ModelPrice[] {
  const places = new Map<string, number>();
  return prices.map((asked, index) => {
    const { providerId, model, inputUsd, outputUsd, cachedInputUsd, cacheWriteUsd } = asked;
    const place = priceKeyOf(providerId ?? null, model);
    const twin = places.get(place);
    if (twin !== undefined)
      throw invalid(`/prices/${index}`, `is the second price of this model and provider, beside /prices/${twin}`);
    places.set(place, index);
    const text = (field: string, usd: string | number) => readDollars(`/prices/${index}/${field}`, usd, priceUsdMax);
    return {
      ...(providerId === undefined ? {} : { providerId }),
      model,
      inputUsd: text("inputUsd", inputUsd),
      outputUsd: text("outputUsd", outputUsd),
      ...(cachedInputUsd === undefined ? {} : { cachedInputUsd: text("cachedInputUsd", cachedInputUsd) }),
      ...(cacheWriteUsd === undefined ? {} : { cacheWriteUsd: text("cacheWriteUsd", cacheWriteUsd) }),
    };
  });
}

async function requireProviders(inner: Tx, tenantId: string, prices: readonly ModelPrice[]): Promise<void> {
  const named = prices.map(({ providerId }) => providerId);
  for (const id of [...new Set(named)].sort())
    if (id !== undefined && (await lockProvider(inner, tenantId, id)) === null)
      throw invalid(`/prices/${named.indexOf(id)}/providerId`, "is not the id of a provider of yours");
}

interface PricesRow {
  readonly prices: readonly ModelPrice[];
  readonly version: number;
}

async function readRow(sql: AnySql, tenantId: string): Promise<PricesRow> {
  const [row] = await sql<PricesRow[]>`
    select /* prices.read */ coalesce(model_prices, '[]') as prices, prices_version as version from tenants where id = ${tenantId}`;
  return row ?? { prices: [], version: 0 };
}

/** Tenants whose prices are kept: of 500 each some 20 MB. */
const knownMax = 100;
const known = new Map<string, { readonly version: number; readonly prices: OwnPrices }>();

/**
 * Returns a tenant's own prices, of this version or a newer one; null for version 0, which has none. Each version is read
 * once in a process, as long as it is used.
 */
export async function ownPricesOf(sql: AnySql, tenantId: string, version: number): Promise<OwnPrices | null> {
  if (version === 0) return null;
  let found = known.get(tenantId);
  if (found === undefined || found.version < version) {
    const row = await readRow(sql, tenantId);
    found = { version: row.version, prices: new OwnPrices(row.prices) };
  }
  // The one that was used last stands last.
  known.delete(tenantId);
  known.set(tenantId, found);
  const [oldest] = known.keys();
  if (known.size > knownMax && oldest !== undefined) known.delete(oldest);
  return found.prices;
}
