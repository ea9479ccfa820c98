import { ascii, type Contract, cap, characters, type Limit, metadata, number, pageLimit, userId } from "./contract.ts";

const connection = { id: ["mcp", "404 not_found"] } as const;
const taken = "409 mcp_connection_name_conflict | 409 invalid_request";
const target = [
  "400 mcp_connection_invalid | 400 invalid_request",
  "400 mcp_connection_authentication_failed | 400 invalid_request",
  "400 mcp_connection_unreachable | 400 invalid_request",
  "400 mcp_connection_discovery_failed | 400 invalid_request",
];
const full = "400 mcp_connection_limit_reached | 400 invalid_request";

/** docs/configuration.md, "Limits". */
const reached: readonly Limit[] = [
  { field: "/url", unit: "ascii", max: 2_048 },
  ascii("/bearerToken", 1, 8_192),
  ascii("/scope", 1, 2_048),
];

/** MCP connections: docs/decisions/mcp.md. */
export const mcpConnections: readonly Contract[] = [
  {
    op: "GET /v1/mcp-connections",
    success: [200],
    shape: "McpConnectionList",
    errors: ["400 invalid_cursor | 400 invalid_request"],
    limits: [pageLimit(200)],
  },
  {
    op: "POST /v1/mcp-connections",
    success: [201],
    shape: "McpConnectionCreated",
    body: "json",
    required: ["name", "url", "authType"],
    key: "response",
    errors: [...target, full, taken],
    limits: [characters("/name", 1, 80), ...reached, cap("MCP connections per tenant", 50, full)],
  },
  { op: "GET /v1/mcp-connections/:id", success: [200], shape: "McpConnection", ids: connection, errors: [] },
  {
    op: "PATCH /v1/mcp-connections/:id",
    success: [200],
    shape: "McpConnection",
    ids: connection,
    body: "json",
    required: ["name"],
    errors: [taken],
    limits: [characters("/name", 1, 80)],
  },
  {
    op: "DELETE /v1/mcp-connections/:id",
    success: [204],
    shape: null,
    ids: connection,
    errors: ["409 mcp_connection_in_use | 409 invalid_request"],
  },
  {
    op: "POST /v1/mcp-connections/:id/test",
    success: [200],
    shape: "McpTest",
    ids: connection,
    key: "response",
    errors: [],
  },
  {
    op: "POST /v1/mcp-connections/:id/reconnect",
    success: [200],
    shape: "McpReconnect",
    ids: connection,
    body: "json",
    required: ["url", "authType"],
    key: "response",
    errors: [...target, "409 mcp_connection_stale_credential_version"],
    limits: reached,
  },
  {
    op: "POST /v1/mcp-connections/:id/connect",
    success: [200],
    shape: "McpConnect",
    ids: { id: ["mcp", "404 not_found | 500 internal"] },
    key: "response",
    errors: ["403 invalid_request", "400 mcp_connection_invalid | 500 internal"],
  },
];

const page = { errors: ["400 invalid_cursor | 400 invalid_request"], limits: [pageLimit(200)] } as const;
const sandbox = { sandboxId: ["sb", "- | 404 SANDBOX_NOT_FOUND"] } as const;
const workspace = { workspaceId: ["ws", "404 workspace_not_found | -"] } as const;
const fields = [characters("/name", 1, 80), metadata];
const conflict = "409 workspace_delete_conflict | 409 SANDBOX_DELETE_CONFLICT";
const commandLimits = [
  characters("/command", 1, 100_000),
  characters("/stdin", 0, 262_144),
  number("/timeoutSeconds", 1, 300),
];
const inUse = "409 workspace_in_use | 409 SANDBOX_IN_USE";

/** Workspaces, which form A calls sandboxes: docs/decisions/workspaces.md. */
export const workspaces: readonly Contract[] = [
  {
    op: "POST /v1/sandboxes",
    form: "a",
    success: [201],
    shape: "Sandbox",
    body: "json",
    key: "response",
    errors: ["400 invalid_request"],
    limits: [...fields, userId, cap("workspaces per tenant", 1_000, "400 invalid_request")],
  },
  { op: "GET /v1/sandboxes", form: "a", success: [200], shape: "SandboxPage", ...page },
  { op: "GET /v1/sandboxes/:sandboxId", form: "a", success: [200], shape: "Sandbox", ids: sandbox, errors: [] },
  {
    op: "PUT /v1/sandboxes/:sandboxId",
    form: "a",
    success: [200],
    shape: "Sandbox",
    ids: sandbox,
    body: "json",
    errors: [conflict],
    limits: fields,
  },
  {
    op: "DELETE /v1/sandboxes/:sandboxId",
    form: "a",
    success: [204, 202],
    shape: null,
    ids: sandbox,
    errors: [inUse, conflict],
  },
  {
    op: "POST /v1/workspaces",
    form: "b",
    success: [201],
    shape: "Workspace",
    body: "json",
    key: "response",
    errors: ["400 invalid_request"],
    limits: [...fields, userId, cap("workspaces per tenant", 1_000, "400 invalid_request")],
  },
  { op: "GET /v1/workspaces", form: "b", success: [200], shape: "WorkspacePage", ...page },
  { op: "GET /v1/workspaces/:workspaceId", form: "b", success: [200], shape: "Workspace", ids: workspace, errors: [] },
  {
    op: "PATCH /v1/workspaces/:workspaceId",
    form: "b",
    success: [200],
    shape: "Workspace",
    ids: workspace,
    body: "json",
    errors: [conflict],
    limits: fields,
  },
  {
    op: "DELETE /v1/workspaces/:workspaceId",
    form: "b",
    success: [204, 202],
    shape: null,
    ids: workspace,
    errors: [inUse],
  },
  {
    op: "POST /v1/workspaces/:workspaceId/commands",
    form: "b",
    success: [200],
    shape: "WorkspaceCommand",
    ids: workspace,
    body: "json",
    key: "response",
    errors: [conflict],
    limits: commandLimits,
  },
  {
    op: "POST /v1/sandboxes/:sandboxId/commands",
    form: "a",
    success: [200],
    shape: "WorkspaceCommand",
    ids: sandbox,
    body: "json",
    key: "response",
    errors: [conflict],
    limits: commandLimits,
  },
  {
    op: "GET /v1/workspaces/:workspaceId/files",
    form: "b",
    success: [200],
    shape: "FileList",
    ids: workspace,
    errors: ["404 not_found", conflict],
  },
  {
    op: "PUT /v1/workspaces/:workspaceId/files",
    stores: true,
    form: "b",
    success: [200],
    shape: "File",
    ids: workspace,
    body: "bytes",
    errors: ["400 invalid_request", "413 payload_too_large", conflict],
    limits: [
      { field: "file", unit: "file", max: 10 * 1024 * 1024, beyond: "413 payload_too_large" },
      cap("files of a workspace", 10_000, "400 invalid_request"),
      cap("bytes of a workspace", 100 * 1024 * 1024, "400 invalid_request"),
      cap("bytes of a path", 1_024, "400 validation_failed | 400 invalid_request"),
    ],
  },
  {
    op: "DELETE /v1/workspaces/:workspaceId/files",
    form: "b",
    success: [204],
    shape: null,
    ids: workspace,
    errors: [conflict],
  },
];
