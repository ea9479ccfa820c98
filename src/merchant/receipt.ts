import type { BillingFault } from "./fault.ts";
import type { UsageReceipt } from "./provider.ts";

/** The receipt of a report that the provider has accepted. */
export const acceptedReceipt: UsageReceipt = { outcome: "accepted", code: null, retryAfterMs: null };

/** Returns the receipt of a report whose request failed (docs/decisions/billing.md). */
export function receiptOf({ kind, reason, retryAfterMs }: BillingFault): UsageReceipt {
  switch (kind) {
    // A success status is a success, whatever the body says.
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
