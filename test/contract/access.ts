import { ascii, type Contract, cap, characters, pageLimit } from "./contract.ts";

const provider = { id: ["prv", "404 provider_not_found"] } as const;
const taken = "409 provider_name_conflict";

/** Usage, API keys and providers. */
export const access: readonly Contract[] = [
  {
    op: "GET /v1/usage",
    success: [200],
    shape: "Usage",
    plainInvalid: true,
    errors: [],
    limits: [pageLimit(200), cap("days of a range", 31, "400 invalid_request")],
  },
  {
    op: "POST /v1/apikeys",
    success: [201],
    shape: "ApiKeyMade",
    plainInvalid: true,
    body: "json",
    required: ["name"],
    key: "response",
    errors: ["400 invalid_request"],
    limits: [characters("/name", 1, 80), cap("keys per tenant", 5, "400 invalid_request")],
  },
  {
    op: "GET /v1/audit-events",
    success: [200],
    shape: "AuditEventPage",
    errors: ["400 invalid_cursor | 400 invalid_request"],
    limits: [pageLimit(200)],
  },
  {
    op: "GET /v1/apikeys",
    success: [200],
    shape: "ApiKeyList",
    errors: ["400 invalid_cursor | 400 invalid_request"],
    limits: [pageLimit(200)],
  },
  {
    op: "DELETE /v1/apikeys/:id",
    success: [204],
    shape: null,
    ids: { id: ["ak", "404 not_found"] },
    errors: [],
  },
  {
    op: "GET /v1/providers",
    success: [200],
    shape: "ProviderList",
    errors: ["400 invalid_cursor | 400 invalid_request"],
    limits: [pageLimit(200)],
  },
  {
    op: "POST /v1/providers",
    success: [201],
    shape: "Provider",
    body: "json",
    required: ["name", "providerType", "apiKey"],
    key: "response",
    errors: ["400 provider_limit_reached | 400 invalid_request", taken],
    limits: [
      characters("/name", 1, 80),
      ascii("/apiKey", 1, 4_096),
      { field: "/baseUrl", unit: "ascii", max: 2_048 },
      cap("providers per tenant", 20, "400 provider_limit_reached | 400 invalid_request"),
    ],
  },
  { op: "GET /v1/providers/:id", success: [200], shape: "Provider", ids: provider, errors: [] },
  {
    op: "PATCH /v1/providers/:id",
    success: [200],
    shape: "Provider",
    ids: provider,
    body: "json",
    required: ["name"],
    errors: [taken],
    limits: [characters("/name", 1, 80)],
  },
  {
    op: "DELETE /v1/providers/:id",
    success: [204],
    shape: null,
    ids: provider,
    errors: ["409 provider_in_use", "409 provider_historical_use"],
  },
  {
    op: "GET /v1/providers/:id/models",
    success: [200],
    shape: "ModelList",
    ids: provider,
    errors: ["422 model_discovery_unsupported", "503 model_validation_unavailable"],
  },
  { op: "GET /v1/providers/:id/thinking-levels", success: [200], shape: "ThinkingLevels", ids: provider, errors: [] },
];
