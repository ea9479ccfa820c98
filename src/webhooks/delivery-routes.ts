import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { ApiError } from "../kernel/errors.ts";
import { operation, pathIds } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { Id } from "../kernel/ids.ts";
import { listWebhookDeliveries, showWebhookDelivery } from "./deliveries.ts";
import { insertTested, retryWebhookDelivery, testDelivery } from "./delivery-states.ts";
import { WebhookDeliveryListResponse, WebhookDeliveryResponse } from "./responses.ts";
import { WebhookDeliveryQuery } from "./schema.ts";
import { sendDelivery } from "./send.ts";
import { getWebhook, lockWebhook } from "./store.ts";

const params = pathIds({ id: Id("webhook") });

/** What was sent to a webhook, and sending by hand. */
export function webhookDeliveryRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/webhooks/:id" })
    .post(
      "/test",
      operation(ctx, {
        id: "webhooks.test",
        role: "editor",
        audit: "webhook.test",
        summary: "Send a test event to a webhook",
        description:
          "Sends an event of the type `webhook.test` once, to a disabled webhook too, and responds with the delivery: whether it succeeded is in `status`.",
        params,
        success: 200,
        response: WebhookDeliveryResponse,
        errors: ["not_found"],
        handle: async ({ sql, commit, tenantId, params: { id } }) => {
          const webhook = await getWebhook(sql, tenantId, id);
          const { delivery, attempt } = await sendDelivery(ctx, webhook, testDelivery(id, tenantId));
          return commit(async (inner, note) => {
            await lockWebhook(inner, tenantId, id);
            note.resourceId = id;
            return showWebhookDelivery(await insertTested(inner, delivery, attempt));
          });
        },
      }),
    )
    .get(
      "/deliveries",
      operation(ctx, {
        id: "webhookDeliveries.list",
        role: "reader",
        reads: "replica",
        summary: "List a webhook's deliveries, newest first",
        params,
        query: WebhookDeliveryQuery,
        success: 200,
        response: WebhookDeliveryListResponse,
        errors: ["not_found", "invalid_cursor"],
        handle: async ({ sql, tenantId, params: { id }, query: { status, cursor, limit } }) => {
          const webhook = await getWebhook(sql, tenantId, id);
          return listWebhookDeliveries(sql, webhook.id, { status, cursor, limit: readLimit(limit) });
        },
      }),
    )
    .post(
      "/deliveries/:deliveryId/retry",
      operation(ctx, {
        id: "webhookDeliveries.retry",
        role: "editor",
        audit: "webhook_delivery.retry",
        summary: "Send a delivery again",
        description: "Whatever became of it, it is sent again with the same id, and retried for 72 hours from now on.",
        params: pathIds({ id: Id("webhook"), deliveryId: Id("webhookDelivery") }),
        success: 200,
        response: WebhookDeliveryResponse,
        errors: ["not_found", "webhook_disabled"],
        handle: ({ commit, tenantId, params: { id, deliveryId } }) =>
          commit(async (inner) => {
            const webhook = await lockWebhook(inner, tenantId, id);
            const row = await retryWebhookDelivery(inner, webhook.id, deliveryId);
            if (!webhook.enabled) throw new ApiError("webhook_disabled");
            return showWebhookDelivery(row);
          }),
      }),
    );
}
