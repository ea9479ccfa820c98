import { type Contract, cap, characters, metadata } from "./contract.ts";

const response = { responseId: ["resp", "404 not_found"] } as const;
const busy = "409 session_busy | 409 SESSION_BUSY";
const refused = "400 validation_failed | 400 invalid_request";

/** Agents by the Open Responses protocol: docs/responses.md. */
export const responses: readonly Contract[] = [
  {
    op: "POST /v1/responses",
    success: [200],
    shape: "Response",
    body: "json",
    required: ["model", "input"],
    key: "turn",
    errors: [
      "400 provider_required | 502 provider_error",
      "402 usage_credit_required",
      "402 merchant_subscription_required",
      "402 merchant_balance_required",
      "403 merchant_customer_unmapped",
      "404 not_found",
      "404 provider_not_found | 404 not_found",
      "404 workspace_not_found | 409 SANDBOX_REQUIRED",
      "404 agent_version_not_found | 404 AGENT_VERSION_NOT_FOUND",
      "409 agent_disabled | 409 AGENT_DISABLED",
      "409 tenant_deleting",
      busy,
      "409 tool_call_settled",
      "429 budget_exceeded",
      "429 quota_exceeded",
      "429 too_many_turns",
      "503 merchant_eligibility_unavailable",
    ],
    limits: [
      characters("/instructions", 0, 100_000),
      characters("/user", 0, 256),
      metadata,
      cap("items of an input", 2_000, refused),
      cap("tools of a response", 50, refused),
      { field: "/text/format/schema", unit: "json", max: 64 * 1024 },
    ],
  },
  { op: "GET /v1/responses/:responseId", success: [200], shape: "Response", ids: response, errors: [] },
  {
    op: "POST /v1/responses/:responseId/cancel",
    success: [200],
    shape: "Response",
    ids: response,
    errors: ["409 session_idle"],
  },
  {
    op: "DELETE /v1/responses/:responseId",
    success: [200],
    shape: "ResponseDeleted",
    ids: response,
    errors: [busy],
  },
  { op: "GET /v1/models", success: [200], shape: "ResponseModels", errors: [] },
  {
    op: "GET /v1/models/:model",
    success: [200],
    shape: "ResponseModel",
    ids: { model: ["ag", "404 not_found"] },
    errors: [],
  },
];
