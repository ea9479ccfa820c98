import type { BillingFault } from "./fault.ts";
import type { UsageReceipt } from "./provider.ts";

export const acceptedReceipt: UsageReceipt = { outcome: "accepted", code: null, retryAfterMs: null };

/** The receipt of a report whose exchange failed (`decisions.md`, "Billing"). */
export function receiptOf({ kind, reason, retryAfterMs }: BillingFault): UsageReceipt {
  switch (kind) {
    // A success is one, whatever else the answer says.
    case "garbled":
      return acceptedReceipt;
    case "unavailable":
      return { outcome: "later", code: reason, retryAfterMs };
    case "unknown":
      return { outcome: "uncertain", code: reason, retryAfterMs: null };
    default:
      return { outcome: "failed", code: reason, retryAfterMs: null };
  }
}
