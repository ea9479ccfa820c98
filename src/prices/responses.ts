import { Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { Text } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** What the operations on a tenant's own prices respond with, for the OpenAPI document. */

const Usd = Type.String({ description: "US dollars for a million tokens, as decimal text." });
export const ModelPricesResponse = Component("ModelPrices", {
  prices: Type.Array(
    Component("ModelPrice", {
      providerId: Type.Optional(Id("provider")),
      model: example(Text, "gpt-5-mini"),
      inputUsd: example(Usd, "0.25"),
      outputUsd: example(Usd, "2"),
      cachedInputUsd: Type.Optional(example(Usd, "0.025")),
      cacheWriteUsd: Type.Optional(Usd),
    }),
  ),
});
