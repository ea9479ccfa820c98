import { type Contract, pageLimit } from "./contract.ts";

const cursor = "400 invalid_cursor | 400 invalid_request";
const none = "404 merchant_connection_not_found";
const refused = "422 merchant_credential_invalid";
const away = "503 merchant_provider_unavailable";
const move = {
  success: [200],
  shape: "UsageEvent",
  ids: { id: ["mev", "404 not_found"] },
  key: "response",
  errors: ["409 merchant_event_state"],
} as const;

/** A tenant's billing provider, bindings and usage events: docs/decisions/billing.md. */
export const merchant: readonly Contract[] = [
  { op: "GET /v1/merchant-connection", success: [200], shape: "MerchantConnectionRead", errors: [] },
  {
    op: "POST /v1/merchant-connection",
    success: [201],
    shape: "MerchantConnectionMade",
    body: "json",
    required: ["provider", "environment", "credential"],
    key: "response",
    errors: [refused, away],
  },
  {
    op: "PATCH /v1/merchant-connection",
    success: [200],
    shape: "MerchantConnectionMade",
    body: "json",
    errors: [none, "409 merchant_account_mismatch", refused, away],
  },
  { op: "DELETE /v1/merchant-connection", success: [204], shape: null, errors: [none] },
  {
    op: "GET /v1/merchant-connection/bindings",
    success: [200],
    shape: "BindingPage",
    errors: [none, cursor],
    limits: [pageLimit(200)],
  },
  {
    op: "PUT /v1/merchant-connection/bindings/:userId",
    success: [200],
    shape: "BindingMade",
    body: "json",
    required: ["customerId"],
    errors: [none, "422 merchant_customer_not_found", away],
  },
  {
    op: "DELETE /v1/merchant-connection/bindings/:userId",
    success: [204],
    shape: null,
    errors: [none, "404 merchant_binding_not_found"],
  },
  {
    op: "GET /v1/merchant-usage-events",
    success: [200],
    shape: "UsageEventPage",
    errors: [cursor],
    limits: [pageLimit(200)],
  },
  {
    op: "GET /v1/merchant-usage-events/summary",
    success: [200],
    shape: "UsageEventSummary",
    errors: [],
    limits: [{ field: "days", unit: "query", min: 1, max: 90 }],
  },
  { op: "POST /v1/merchant-usage-events/:id/retry", ...move },
  { op: "POST /v1/merchant-usage-events/:id/release", ...move },
  { op: "POST /v1/merchant-usage-events/:id/discard", ...move },
];
