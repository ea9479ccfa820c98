import { type Contract, cap, characters, type Limit, pageLimit } from "./contract.ts";

const webhook = { id: ["wh", "404 not_found"] } as const;
const cursor = "400 invalid_cursor | 400 invalid_request";
const full = "400 webhook_limit_reached | 400 invalid_request";
const fields: readonly Limit[] = [{ field: "/url", unit: "ascii", max: 2_048 }, characters("/description", 0, 500)];

/** Webhooks and their deliveries: docs/webhooks.md. */
export const webhooks: readonly Contract[] = [
  { op: "GET /v1/webhooks", success: [200], shape: "WebhookPage", errors: [cursor], limits: [pageLimit(200)] },
  {
    op: "POST /v1/webhooks",
    success: [201],
    shape: "WebhookWithSecret",
    body: "json",
    required: ["url", "events"],
    key: "response",
    errors: [full],
    limits: [...fields, cap("webhooks per tenant", 20, full)],
  },
  { op: "GET /v1/webhooks/:id", success: [200], shape: "Webhook", ids: webhook, errors: [] },
  {
    op: "PATCH /v1/webhooks/:id",
    success: [200],
    shape: "Webhook",
    ids: webhook,
    body: "json",
    errors: [],
    limits: fields,
  },
  { op: "DELETE /v1/webhooks/:id", success: [204], shape: null, ids: webhook, errors: [] },
  {
    op: "POST /v1/webhooks/:id/rotate-secret",
    success: [200],
    shape: "WebhookWithSecret",
    ids: webhook,
    key: "response",
    errors: [],
  },
  {
    op: "POST /v1/webhooks/:id/test",
    success: [200],
    shape: "WebhookDelivery",
    ids: webhook,
    key: "response",
    errors: [],
  },
  {
    op: "GET /v1/webhooks/:id/deliveries",
    success: [200],
    shape: "WebhookDeliveryPage",
    ids: webhook,
    errors: [cursor],
    limits: [pageLimit(200)],
  },
  {
    op: "POST /v1/webhooks/:id/deliveries/:deliveryId/retry",
    success: [200],
    shape: "WebhookDelivery",
    ids: { ...webhook, deliveryId: ["whd", "404 not_found"] },
    key: "response",
    errors: ["409 webhook_disabled"],
  },
];
