import { type Static, Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { Dollars } from "../kernel/http/dollars.ts";
import { Characters } from "../kernel/http/request-fields.ts";
import { Id } from "../kernel/ids.ts";

/** Prices that a tenant may set itself. */
export const modelPricesMax = 500;
/** The highest price of a million tokens, in US dollars. */
export const priceUsdMax = 1_000_000;
/** Dollars for a million tokens. */
const Price = Dollars(priceUsdMax, "US dollars for a million tokens");

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
