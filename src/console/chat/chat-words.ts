import type { ChatConnection, ChatConnectionUpdate, ChatDelivery } from "parley/client";
import type { BadgeTone } from "../parts/tone.ts";

/** The chat platforms: how a request names one, and what people call it. */
export const platformChoices = [
  ["slack", "Slack"],
  ["telegram", "Telegram"],
] as const;

const labels: { readonly [platform: string]: string | undefined } = { chat_a: "Slack", chat_b: "Telegram" };

/** What people call a platform. */
export function platformText(platform: string): string {
  return labels[platform] ?? platform;
}

/** What becomes of the webhook's URL. */
export function webhookHint(platform: ChatConnection["platform"]): string {
  return platform === "chat_a"
    ? "Enter the webhook URL in the Slack app as the Request URL, both under Event Subscriptions and under Interactivity & Shortcuts."
    : "The webhook URL is registered at Telegram when the connection is enabled, and taken back when it is disabled.";
}

/** The form of a connection's name and configuration; lists have one entry a line. */
export interface ChatSettingsForm {
  readonly name: string;
  readonly "configuration.channelIds": string;
  readonly "configuration.chatIds": string;
  readonly "configuration.approverIds": string;
  readonly "configuration.businessMode": boolean;
}

/** A connection's name and configuration as they are edited. */
export function formOfChat({ name, configuration }: ChatConnection): ChatSettingsForm {
  const lines = (ids: readonly string[] | undefined) => (ids ?? []).join("\n");
  return {
    name,
    "configuration.channelIds": lines(configuration.channelIds),
    "configuration.chatIds": lines(configuration.chatIds),
    "configuration.approverIds": lines(configuration.approverIds),
    "configuration.businessMode": configuration.businessMode ?? false,
  };
}

/** The ids of a field, which stand one a line or with commas between them. */
export function idsInText(text: string): string[] {
  return text.split(/[\s,]+/).filter((id) => id !== "");
}

/** The request that a form means: each platform has other fields. */
export function chatOfForm(form: ChatSettingsForm, platform: ChatConnection["platform"]): ChatConnectionUpdate {
  const approverIds = idsInText(form["configuration.approverIds"]);
  const own =
    platform === "chat_a"
      ? { channelIds: idsInText(form["configuration.channelIds"]) }
      : { chatIds: idsInText(form["configuration.chatIds"]), businessMode: form["configuration.businessMode"] };
  return { name: form.name, configuration: { platform, ...own, approverIds } };
}

/** What a check is about, in words. */
export function healthCheckText({ code, subject }: ChatConnection["health"]["checks"][number]): string {
  if (code === "channel_membership") return `The bot is in ${subject ?? "its channels"}`;
  return { bot_identity: "The bot is the same as before", webhook_url: "The platform calls this service" }[code];
}

/** The tone of a check's result. */
export function checkTone(status: "pass" | "fail" | "unknown"): BadgeTone {
  return ({ pass: "good", fail: "bad", unknown: "neutral" } as const)[status];
}

/** Whether a person has to say what becomes of a delivery. */
export function needsRepair({ status }: Pick<ChatDelivery, "status">): boolean {
  return status === "failed" || status === "ambiguous";
}

/** What is known of a delivery that needs a person. */
export function repairText({ status, receipts }: Pick<ChatDelivery, "status" | "receipts">): string {
  const posted =
    receipts.length === 0
      ? ""
      : ` ${receipts.length} ${receipts.length === 1 ? "message of it is" : "messages of it are"} posted, and not posted again.`;
  if (status === "ambiguous")
    return `Nobody knows whether its next message was posted: repairing it may post that one twice.${posted}`;
  return `It was refused, and its next message was not posted.${posted}`;
}
