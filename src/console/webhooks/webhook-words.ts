import type { Webhook } from "parley/client";

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
