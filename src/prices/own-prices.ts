import { dollarUnits } from "../kernel/http/dollars.ts";
import type { IdOf } from "../kernel/ids.ts";
import type { TokenCounts } from "../usage/tokens.ts";

/** A tenant's own price of a model: US dollars for a million tokens, as decimal text. */
export interface ModelPrice {
  /** Left out: at every provider. */
  readonly providerId?: IdOf<"provider">;
  readonly model: string;
  readonly inputUsd: string;
  readonly outputUsd: string;
  /** Left out: as input. */
  readonly cachedInputUsd?: string;
  readonly cacheWriteUsd?: string;
}

/** A price in units of `dollarDecimals` places. */
interface Rates {
  readonly input: bigint;
  readonly output: bigint;
  readonly cachedInput: bigint;
  readonly cacheWrite: bigint;
}

/** A tenant's own prices, to be asked for the price of a call. */
export class OwnPrices {
  readonly #rates: ReadonlyMap<string, Rates>;

  constructor(prices: readonly ModelPrice[]) {
    this.#rates = new Map(prices.map((price) => [priceKeyOf(price.providerId ?? null, price.model), ratesOf(price)]));
  }

  /** Returns what a call costs, in picodollars; null where it has no price here. That of the provider goes before that of all. */
  costOf(providerId: string | null, model: string, tokens: TokenCounts): number | null {
    const rates =
      (providerId === null ? undefined : this.#rates.get(priceKeyOf(providerId, model))) ??
      this.#rates.get(priceKeyOf(null, model));
    return rates === undefined ? null : picosOf(rates, tokens);
  }
}

/** Returns the name under which a price is found: no two prices of a tenant have the same. */
export function priceKeyOf(providerId: string | null, model: string): string {
  return `${providerId ?? ""} ${model}`;
}

function ratesOf({ inputUsd, outputUsd, cachedInputUsd = inputUsd, cacheWriteUsd = inputUsd }: ModelPrice): Rates {
  return {
    input: dollarUnits(inputUsd),
    output: dollarUnits(outputUsd),
    cachedInput: dollarUnits(cachedInputUsd),
    cacheWrite: dollarUnits(cacheWriteUsd),
  };
}

const million = 1_000_000n;

/** The price of a token may be less than a picodollar: so the whole call is rounded, not each token. */
function picosOf(rates: Rates, { inputTokens, outputTokens, ...parts }: TokenCounts): number {
  const { cachedInputTokens, cacheWriteTokens } = parts;
  const units =
    BigInt(inputTokens - cachedInputTokens - cacheWriteTokens) * rates.input +
    BigInt(cachedInputTokens) * rates.cachedInput +
    BigInt(cacheWriteTokens) * rates.cacheWrite +
    BigInt(outputTokens) * rates.output;
  return Number((units + million / 2n) / million);
}
