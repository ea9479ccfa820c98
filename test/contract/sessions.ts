import { type Contract, cap, characters, metadata, metadataOf, number, pageLimit, userId } from "./contract.ts";

const agent = { agentId: ["ag", "404 not_found"] } as const;
const session = { ...agent, sessionId: ["ss", "404 not_found"] } as const;
const busy = "409 session_busy | 409 SESSION_BUSY";
const cursor = "400 invalid_cursor | 400 invalid_request";
/** What every door refuses before a turn is accepted. */
const gates = [
  "400 provider_required | 502 provider_error",
  "402 usage_credit_required",
  "402 merchant_subscription_required",
  "402 merchant_balance_required",
  "403 merchant_customer_unmapped",
  "404 provider_not_found | 404 not_found",
  "404 workspace_not_found | 409 SANDBOX_REQUIRED",
  "409 agent_disabled | 409 AGENT_DISABLED",
  "409 tenant_deleting",
  "409 turn_limit_reached",
  "429 quota_exceeded",
  "429 too_many_turns",
  "502 provider_error",
  "503 merchant_eligibility_unavailable",
];
const prompts = [
  "400 prompt_variable_missing | 400 invalid_request",
  "400 prompt_variable_unknown | 400 invalid_request",
];
const canceled = "409 turn_canceled";
/** docs/configuration.md, "Limits". */
const messageId = (field: string) => characters(field, 1, 256);
const version = "404 agent_version_not_found | 404 AGENT_VERSION_NOT_FOUND";

/** Sessions, turns, approvals and generation: docs/decisions.md, "Sessions" and "Turns". */
export const sessions: readonly Contract[] = [
  {
    op: "POST /v1/agents/:agentId/sessions",
    success: [201],
    shape: "Turn",
    ids: agent,
    body: "json",
    key: "turn",
    errors: [...gates, ...prompts, version, canceled],
    limits: [
      number("/version", 1, 2_147_483_647),
      messageId("/message/id"),
      userId,
      metadata,
      metadataOf("/message"),
      cap("bytes of a JSON body", 8 * 1024 * 1024, "413 payload_too_large"),
      cap("values of a JSON body", 100_000, "413 payload_too_large"),
    ],
  },
  {
    op: "POST /v1/agents/:agentId/sessions/:sessionId",
    success: [200],
    shape: "Turn",
    ids: session,
    body: "json",
    key: "turn",
    errors: [...gates, ...prompts, canceled, busy, "404 message_not_found | 404 not_found"],
    limits: [messageId("/message/id"), metadata, metadataOf("/message")],
  },
  {
    op: "POST /v1/agents/:agentId/generate",
    success: [200],
    shape: "Turn",
    ids: agent,
    body: "json",
    required: ["messages"],
    key: "turn",
    errors: [...gates, version],
    limits: [
      number("/version", 1, 2_147_483_647),
      messageId("/messages/0/id"),
      userId,
      metadata,
      metadataOf("/messages/0"),
    ],
  },
  {
    op: "GET /v1/agents/:agentId/sessions/:sessionId/stream",
    success: [200, 204],
    shape: "stream",
    ids: session,
    errors: [],
  },
  {
    op: "POST /v1/agents/:agentId/sessions/:sessionId/cancel",
    success: [202],
    shape: "Canceled",
    ids: session,
    body: "json",
    errors: ["409 session_idle"],
  },
  {
    op: "GET /v1/agents/:agentId/sessions",
    success: [200],
    shape: "SessionPage",
    ids: { agentId: ["ag", null] },
    errors: [cursor],
    limits: [pageLimit(200)],
  },
  { op: "GET /v1/sessions/latest", success: [200], shape: "LatestPage", errors: [cursor], limits: [pageLimit(200)] },
  {
    op: "GET /v1/agents/:agentId/sessions/:sessionId/messages",
    success: [200],
    shape: "MessagePage",
    ids: session,
    errors: [cursor],
    limits: [pageLimit(200)],
  },
  {
    op: "GET /v1/agents/:agentId/sessions/:sessionId",
    success: [200],
    shape: "SessionDetails",
    ids: session,
    errors: [],
  },
  {
    op: "PATCH /v1/agents/:agentId/sessions/:sessionId",
    success: [200],
    shape: "SessionDetails",
    ids: session,
    body: "json",
    required: ["metadata"],
    errors: [],
    limits: [metadata],
  },
  {
    op: "DELETE /v1/agents/:agentId/sessions/:sessionId",
    success: [204],
    shape: null,
    ids: session,
    errors: [busy],
  },
  {
    op: "POST /v1/agents/:agentId/sessions/:sessionId/fork",
    success: [201],
    shape: "Session",
    ids: session,
    body: "json",
    key: "response",
    errors: ["404 message_not_found | 404 not_found"],
    limits: [userId, metadata],
  },
  {
    op: "GET /v1/agents/:agentId/sessions/:sessionId/tool-calls",
    success: [200],
    shape: "ToolCalls",
    ids: session,
    errors: [],
  },
  {
    op: "POST /v1/agents/:agentId/sessions/:sessionId/tool-calls/:toolCallId",
    success: [202],
    shape: "ToolCallSettled",
    // A provider makes the id of a tool call, in any shape.
    ids: session,
    body: "json",
    key: "response",
    errors: ["409 tool_call_settled"],
    limits: [{ field: "/output", unit: "json", max: 256 * 1024 }, characters("/errorText", 0, 4096)],
  },
  {
    op: "GET /v1/agents/:agentId/sessions/:sessionId/tool-approvals",
    success: [200],
    shape: "ToolApprovals",
    ids: session,
    errors: [],
  },
  {
    op: "POST /v1/agents/:agentId/sessions/:sessionId/tool-approvals/:approvalId",
    success: [202],
    shape: "ToolApprovalDecision",
    ids: { ...session, approvalId: ["apr", "404 not_found"] },
    body: "json",
    required: ["approved"],
    key: "response",
    errors: ["409 approval_decided | 409 invalid_request"],
    limits: [characters("/reason", 0, 1000)],
  },
  {
    op: "GET /v1/agents/:agentId/sessions/:sessionId/tool-approval-continuations/:continuationId",
    success: [200],
    shape: "stream",
    ids: { ...session, continuationId: ["cont", "404 not_found"] },
    errors: [busy],
  },
];
