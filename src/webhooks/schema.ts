import { type Static, Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { Change, Characters, Closed, OneOf, pageQuery } from "../kernel/http/request-fields.ts";
import { webhookEventTypes } from "./events.ts";

/** Webhooks that a tenant may have at once. */
export const webhooksPerTenantMax = 20;
/** A URL has at most this many characters. */
const urlLengthMax = 2_048;
/** A description has at most this many characters. */
const descriptionLengthMax = 500;

/** After a rotation the secret before signs beside the new one for this long. */
export const secretOverlapHours = 24;

/** A delivery is retried for this long after its event; a webhook that only failed for as long is disabled. */
export const retryForHours = 72;
/** Pauses between the attempts of a delivery: as long as it has been tried for, within these bounds. */
export const attemptPauseMinMs = 5_000;
export const attemptPauseMaxMs = 6 * 60 * 60 * 1000;
/** A webhook whose attempts all fail is tried with one delivery at a time, after half the time that it has failed for, within these bounds. */
export const failingPauseMinMs = 5_000;
export const failingPauseMaxMs = 60_000;
/** The status of a response has to come within this time. */
export const attemptTimeoutMs = 15_000;
/** What is said in a response is not used. It is read so far, so that the connection can be used again, then dropped. */
export const receiptBytesMax = 16 * 1024;
/** The same in time. */
export const receiptBodyMs = 1_000;
/** A delivery shows its newest attempts, this many. */
export const attemptsKeptMax = 32;
/** Deliveries that are sent to one webhook at the same time. */
export const sendsAtOnceMax = 10;

/** Deliveries that have ended are kept for this long. */
export const deliveriesKeptDays = 7;
/** A webhook has at most this many deliveries; of more, the oldest go, sent or not. */
export const deliveriesPerWebhookMax = 100_000;

const fields = {
  url: example(Type.String({ minLength: 1, maxLength: urlLengthMax }), "https://example.org/parley"),
  events: example(
    Type.Array(OneOf(...webhookEventTypes), { minItems: 1, maxItems: webhookEventTypes.length, uniqueItems: true }),
    ["turn.ended"],
  ),
  description: example(Characters({ max: descriptionLengthMax }), "Support desk"),
  enabled: example(Type.Boolean(), true),
};

export const WebhookCreate = Component("WebhookCreate", {
  url: fields.url,
  events: fields.events,
  description: Type.Optional(fields.description),
  enabled: Type.Optional(fields.enabled),
});
export const WebhookUpdate = Change("WebhookUpdate", fields);
export type WebhookFields = Static<typeof WebhookUpdate>;

export const WebhookListQuery = Closed(pageQuery);

/** The states of a delivery; their moves are in `delivery-states.ts`. */
export const webhookDeliveryStatuses = ["pending", "succeeded", "failed"] as const;
export type WebhookDeliveryStatus = (typeof webhookDeliveryStatuses)[number];

export const WebhookDeliveryQuery = Closed({
  status: Type.Optional(OneOf(...webhookDeliveryStatuses)),
  ...pageQuery,
});
