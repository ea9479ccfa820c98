import { type Contract, cap, characters, file, type Limit, metadata, number, pageLimit, userId } from "./contract.ts";

const agent = { agentId: ["ag", "404 not_found"] } as const;
const managed = "409 admin_agent_managed | 409 ADMIN_AGENT_MANAGED";
const save = [
  "400 model_not_found | 400 invalid_request",
  "400 agent_mcp_connection_not_found | 400 invalid_request",
  "400 agent_mcp_connections_invalid | 400 invalid_request",
  "400 mcp_connection_discovery_failed | -",
  "404 provider_not_found | 400 invalid_request",
  "404 workspace_not_found | 400 invalid_request",
  "409 agent_name_conflict | 400 invalid_request",
  "- | 409 SANDBOX_REQUIRED",
  "- | 409 SANDBOX_IN_USE",
  "503 model_validation_unavailable",
];
const invalid = "400 validation_failed | 400 invalid_request";
const policy = (field: string): Limit => ({ field, unit: "items", max: 200, form: "b" });
const fields = [
  characters("/name", 1, 80),
  characters("/instructions", 0, 3000),
  { ...characters("/model", 1, 256), form: "b" },
  { field: "/model", unit: "characters", max: 256, form: "a" },
  { ...number("/compactionReserveTokens", 0, 2_147_483_647), form: "b" },
  policy("/approvalInChat/overrides"),
  policy("/approvalInTasks/overrides"),
  { field: "/fallbackModels", unit: "items", max: 3, form: "b" },
  { field: "/clientTools", unit: "items", max: 50, form: "b" },
  metadata,
  cap("MCP connections of an agent", 50, invalid),
] as const;

/** Agents, their versions and avatars: docs/decisions.md, "Agents". */
export const agents: readonly Contract[] = [
  {
    op: "POST /v1/agents",
    success: [201],
    shape: "Agent",
    body: "json",
    required: ["name"],
    key: "response",
    errors: ["400 invalid_request", ...save],
    limits: [...fields, userId, cap("agents per tenant", 100, "400 invalid_request")],
  },
  {
    op: "GET /v1/agents",
    success: [200],
    shape: "AgentList",
    errors: ["400 invalid_cursor | 400 invalid_request"],
    limits: [pageLimit(200)],
  },
  { op: "GET /v1/agents/:agentId", success: [200], shape: "Agent", ids: agent, errors: [] },
  {
    op: "PUT /v1/agents/:agentId",
    success: [200],
    shape: "Agent",
    ids: agent,
    body: "json",
    errors: [managed, ...save],
    limits: fields,
  },
  { op: "DELETE /v1/agents/:agentId", success: [204], shape: null, ids: agent, errors: [managed] },
  {
    op: "POST /v1/agents/:agentId/disable",
    success: [200],
    shape: "Agent",
    ids: agent,
    key: "response",
    errors: [managed],
  },
  {
    op: "POST /v1/agents/:agentId/enable",
    success: [200],
    shape: "Agent",
    ids: agent,
    key: "response",
    errors: [managed],
  },
  {
    op: "POST /v1/agents/:agentId/avatar",
    success: [200],
    shape: "Agent",
    ids: agent,
    body: "multipart",
    errors: ["400 invalid_request", "413 invalid_request", "415 invalid_request", managed],
    limits: [file("avatar", 512 * 1024, "413 invalid_request")],
  },
  { op: "DELETE /v1/agents/:agentId/avatar", success: [200], shape: "Agent", ids: agent, errors: [managed] },
  {
    op: "GET /v1/agents/:agentId/versions",
    success: [200],
    shape: "AgentVersionPage",
    ids: agent,
    errors: ["400 invalid_cursor | 400 invalid_request"],
    limits: [pageLimit(200)],
  },
  {
    op: "GET /v1/agents/:agentId/versions/:version",
    success: [200],
    shape: "AgentVersion",
    ids: agent,
    errors: ["404 not_found | 404 AGENT_VERSION_NOT_FOUND"],
  },
  {
    op: "GET /v1/agents/:agentId/mcp-attachments",
    success: [200],
    shape: "McpAttachmentList",
    ids: agent,
    errors: [],
  },
  {
    op: "PATCH /v1/agents/:agentId/mcp-attachments/:mcpConnectionId",
    success: [200],
    shape: "McpAttachment",
    ids: { ...agent, mcpConnectionId: ["mcp", "404 not_found"] },
    body: "json",
    errors: [],
    limits: [{ field: "/forwardedMetadataKeys", unit: "items", max: 100 }],
  },
  {
    op: "GET /v1/agents/:agentId/usage",
    success: [200],
    shape: "Usage",
    ids: { agentId: ["ag", null] },
    plainInvalid: true,
    errors: [],
    limits: [pageLimit(200), cap("days of a range", 31, "400 invalid_request")],
  },
];
