import { ask, type Cause } from "./causes.ts";
import { newWebhook, newWebhookDelivery, webhookBody } from "./outside.ts";
import { send } from "./world.ts";

/** Errors of webhooks. */
export const webhookCauses: readonly Cause[] = [
  {
    ops: ["POST /v1/webhooks"],
    row: "400 webhook_limit_reached | 400 invalid_request",
    alone: true,
    async meet(s, form, op) {
      for (let made = 0; made < 20; made += 1) await s.parley.webhooks.create(webhookBody(s));
      return send(s.t, op, form, { body: webhookBody(s) });
    },
  },
  {
    ops: ["POST /v1/webhooks/:id/deliveries/:deliveryId/retry"],
    row: "409 webhook_disabled",
    async meet(s, form, op) {
      const id = await newWebhook(s);
      await s.parley.webhooks.update(id, { enabled: false });
      return ask(s, op, form, { params: await newWebhookDelivery(s, id) });
    },
  },
];
