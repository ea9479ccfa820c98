import type { Webhook, WebhookDelivery } from "parley/client";

type WebhookEventName = Webhook["events"][number];

/** The events that a webhook can be told of, and when each happens. */
export const webhookEventChoices = [
  ["turn.ended", "A turn has ended, by whatever cause."],
  ["approval.requested", "A call waits for a person's decision."],
  ["tool_call.requested", "A client tool's result is waited for."],
  ["run.ended", "A task's run has ended."],
  ["delivery.failed", "A message to a chat platform was not posted, or nobody knows whether it was."],
  ["mcp_connection.changed", "An MCP connection's status has changed."],
  ["budget.warned", "A budget is nearly used up."],
  ["budget.reached", "A budget is used up."],
  ["audit.recorded", "Somebody changed something."],
] as const satisfies readonly (readonly [WebhookEventName, string])[];

/** What a person edits of a webhook. Fields have the API's names, so that its errors find them. */
export interface WebhookForm {
  readonly url: string;
  readonly description: string;
  readonly events: readonly WebhookEventName[];
}

/** Returns the form of a webhook, or of a new one. */
export function formOfWebhook(webhook: Webhook | null): WebhookForm {
  return { url: webhook?.url ?? "", description: webhook?.description ?? "", events: webhook?.events ?? [] };
}

/** Returns what the form says, for a webhook that is made or changed. */
export function webhookOfForm({ url, description, events }: WebhookForm) {
  return { url: url.trim(), description, events: [...events] };
}

/** The state of a webhook in one word. */
export function webhookStatus({ enabled, failingSince }: Webhook): "disabled" | "failing" | "enabled" {
  if (!enabled) return "disabled";
  return failingSince === null ? "enabled" : "failing";
}

type Attempt = WebhookDelivery["attempts"][number];

/** Why an attempt does not count, beside the status that the server answered with. */
const faults: { readonly [error: string]: string } = {
  redirect: "the server sends it elsewhere, which is not followed",
  timed_out: "the server did not answer in time",
  unreachable: "the server could not be reached",
  address_refused: "the address is not public, or not https",
  secret_unavailable: "the secret cannot be opened just now",
};

/** What came of an attempt in words: `the server answered with 503`. */
export function attemptText({ statusCode, error }: Pick<Attempt, "statusCode" | "error">): string {
  const answered = statusCode === null ? null : `the server answered with ${statusCode}`;
  const fault = error === null || error === "status" ? null : (faults[error] ?? error.replaceAll("_", " "));
  return [answered, fault].filter((each) => each !== null).join(": ") || "nothing is known of it";
}

/** The newest attempt of some deliveries. */
export function newestAttempt(deliveries: readonly Pick<WebhookDelivery, "attempts">[]): Attempt | undefined {
  return deliveries
    .flatMap(({ attempts }) => attempts)
    .reduce<Attempt | undefined>(
      (newest, each) => (newest === undefined || Date.parse(each.at) > Date.parse(newest.at) ? each : newest),
      undefined,
    );
}
