import type { MerchantConnection, MerchantConnectionCreate, MerchantEvent } from "parley/client";

/** The billing providers: how a request names one, and what people call it. */
export const merchantChoices = [
  ["polar", "Polar"],
  ["stripe", "Stripe"],
] as const;

const labels: { readonly [provider: string]: string | undefined } = { billing_a: "Polar", billing_b: "Stripe" };

/** What people call a billing provider. */
export function merchantText(provider: string): string {
  return labels[provider] ?? provider;
}

export const environmentChoices = ["sandbox", "live"] as const;
export const eventStatusChoices = [
  ...(["pending", "accepted", "failed", "uncertain"] as const),
  ...(["unmapped", "incomplete", "discarded", "expired"] as const),
];

/** The form of what an end user needs before a turn. */
export interface GuardForm {
  readonly "guard.enabled": boolean;
  readonly "guard.productIds": string;
  readonly "guard.meterId": string;
}

/** A guard as it is edited: products stand one a line. */
export function formOfGuard({ enabled, productIds, meterId }: MerchantConnection["guard"]): GuardForm {
  return { "guard.enabled": enabled, "guard.productIds": productIds.join("\n"), "guard.meterId": meterId ?? "" };
}

/** The guard that a form means. */
export function guardOfForm(form: GuardForm): NonNullable<MerchantConnectionCreate["guard"]> {
  const meterId = form["guard.meterId"].trim();
  return {
    enabled: form["guard.enabled"],
    productIds: form["guard.productIds"].split(/[\s,]+/).filter((id) => id !== ""),
    meterId: meterId === "" ? null : meterId,
  };
}

/** What a person can do about a usage event, as the API allows it by its status. */
export function eventMoves({
  status,
  userId,
  workflowIssue,
}: Pick<MerchantEvent, "status" | "userId" | "workflowIssue">) {
  return {
    retry: status === "failed" || status === "uncertain" || (status === "pending" && workflowIssue !== null),
    release: status === "unmapped" && userId !== "",
    discard: status === "failed" || status === "uncertain" || status === "unmapped",
  };
}

/** What is wrong with a usage event, or what becomes of it, in words. */
export function eventText({ status, nextAction, workflowIssue, lastErrorCode }: MerchantEvent): string {
  if (status === "pending")
    return workflowIssue === null
      ? "It is sent by itself."
      : `It is not sent by itself any more (${workflowIssue.replaceAll("_", " ")}).`;
  if (status === "unmapped")
    return nextAction === "discard"
      ? "No customer can be bound to it: discard it."
      : "Its end user is bound to no customer: bind one, then release it.";
  if (status === "uncertain") return "Nobody knows whether it arrived. Look at the provider before it is sent again.";
  if (status === "incomplete") return "Its worker was lost: the numbers are estimates, and nothing is sent.";
  if (status === "failed") return `It was not taken${lastErrorCode === null ? "" : ` (${lastErrorCode})`}.`;
  if (status === "expired") return "It is older than the provider takes.";
  return status === "discarded" ? "It is never sent." : "";
}
