import { Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { Nullable, OneOf } from "../kernel/http/request-fields.ts";
import { Failure, Moment, MomentOrNull, pageOf, Text, TextOrNull, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";
import { webhookEventTypes } from "./events.ts";
import { webhookDeliveryStatuses } from "./schema.ts";

/** What operations on webhooks respond with, for the OpenAPI document. */
const webhook = {
  id: Id("webhook"),
  url: example(Text, "https://example.org/parley"),
  events: example(Type.Array(OneOf(...webhookEventTypes)), ["turn.ended"]),
  description: example(Text, "Support desk"),
  enabled: example(Type.Boolean(), true),
  agentIds: example(Nullable(Type.Array(Id("agent"))), null),
  disabledReason: example(Nullable(Failure), null),
  failingSince: example(MomentOrNull, null),
  previousSecretExpiresAt: example(MomentOrNull, null),
  ...times,
};
export const WebhookResponse = Component("Webhook", webhook);
export const WebhookListResponse = pageOf("WebhookPage", WebhookResponse);
export const WebhookWithSecretResponse = Component("WebhookWithSecret", {
  ...webhook,
  secret: example(Text, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="),
});

export const WebhookDeliveryResponse = Component("WebhookDelivery", {
  id: Id("webhookDelivery"),
  webhookId: Id("webhook"),
  type: example(Text, "turn.ended"),
  timestamp: Moment,
  data: Component("WebhookEventData", {
    ids: example(Type.Record(Type.String(), TextOrNull), { turnId: "turn_0123456789abcdefghijklmn" }),
    status: example(Text, "succeeded"),
  }),
  status: OneOf(...webhookDeliveryStatuses),
  attemptCount: example(Type.Integer(), 1),
  attempts: Type.Array(
    Component("WebhookAttempt", {
      at: Moment,
      statusCode: example(Nullable(Type.Integer()), 204),
      ms: example(Type.Integer(), 87),
      error: example(TextOrNull, null),
    }),
  ),
  nextAttemptAt: example(MomentOrNull, null),
  finishedAt: example(MomentOrNull, "2026-01-01T00:00:00.000Z"),
});
export const WebhookDeliveryListResponse = pageOf("WebhookDeliveryPage", WebhookDeliveryResponse);
