import type { BillingFault } from "./fault.ts";
import type { Receipt } from "./provider.ts";

export const accepted: Receipt = { outcome: "accepted", code: null, retryAfterMs: null };

/** The receipt of a report whose exchange failed (`decisions.md`, "Billing"). */
export function receiptOf({ kind, reason, retryAfterMs }: BillingFault): Receipt {
  switch (kind) {
    // A success is one, whatever else the answer says.
    case "garbled":
      return accepted;
    case "unavailable":
      return { outcome: "later", code: reason, retryAfterMs };
    case "unknown":
      return { outcome: "uncertain", code: reason, retryAfterMs: null };
    default:
      return { outcome: "failed", code: reason, retryAfterMs: null };
  }
}
