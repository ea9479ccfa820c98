import { type Static, Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { Characters } from "../kernel/http/request-fields.ts";
import { Id } from "../kernel/ids.ts";

/** Prices that a tenant may set itself. */
export const modelPricesMax = 500;
/** The highest price of a million tokens, in US dollars. */
export const priceUsdMax = 1_000_000;
/** A millionth of a millionth of a dollar is the smallest price of a million tokens. */
export const priceDecimals = 12;

/** Dollars for a million tokens, as decimal text or as a number; what else holds of it is checked by `readPrices`. */
const Price = Type.Union(
  [
    Type.String({ pattern: `^(0|[1-9]\\d{0,6})(\\.\\d{1,${priceDecimals}})?$` }),
    Type.Number({ minimum: 0, maximum: priceUsdMax }),
  ],
  {
    errorMessage: `must be US dollars for a million tokens, as decimal text such as "2.50" or as a number, at most ${priceUsdMax}, with at most ${priceDecimals} decimals`,
  },
);

/** The body that replaces a tenant's prices. */
export const ModelPricesUpdate = Component("ModelPricesUpdate", {
  prices: Type.Array(
    Component("ModelPriceUpdate", {
      providerId: Type.Optional(example(Id("provider"), undefined)),
      model: example(Characters({ min: 1, max: 256 }), "gpt-5-mini"),
      inputUsd: example(Price, "0.25"),
      outputUsd: example(Price, "2"),
      cachedInputUsd: Type.Optional(example(Price, "0.025")),
      cacheWriteUsd: Type.Optional(Price),
    }),
    { maxItems: modelPricesMax },
  ),
});
export type ModelPricesAsked = Static<typeof ModelPricesUpdate>;
