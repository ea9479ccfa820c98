import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { operation } from "../kernel/http/operation.ts";
import { ModelPricesResponse } from "./responses.ts";
import { ModelPricesUpdate } from "./schema.ts";
import { pricesAsked, readPrices, replacePrices } from "./store.ts";

/** A tenant's own prices of models: `/v1/model-prices`. */
export function modelPriceRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/model-prices" })
    .get(
      "",
      operation(ctx, {
        id: "modelPrices.get",
        role: "admin",
        summary: "Read your own prices of models",
        success: 200,
        response: ModelPricesResponse,
        handle: ({ sql, tenantId }) => readPrices(sql, tenantId),
      }),
    )
    .put(
      "",
      operation(ctx, {
        id: "modelPrices.replace",
        role: "admin",
        allAgents: true,
        audit: "model_prices.update",
        summary: "Replace your own prices of models",
        description:
          "US dollars for a million tokens, as decimal text or as numbers. A price without `providerId` is of that model at every provider; what has no price here is priced by the catalogue. Without `cachedInputUsd` and `cacheWriteUsd` such tokens cost as input. Calls that end from now on are priced by them; what is booked stays as it is.",
        body: ModelPricesUpdate,
        success: 200,
        response: ModelPricesResponse,
        handle: ({ commit, tenantId, body }) => {
          const prices = pricesAsked(body);
          return commit(async (inner, note) => {
            note.resourceId = tenantId;
            const before = await replacePrices(inner, tenantId, prices);
            if (before === null) note.isWritten = true;
            else note.before = before;
            return { prices };
          });
        },
      }),
    );
}
