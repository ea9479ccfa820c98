import { Elysia } from "elysia";
import { withFragmentFor } from "../kernel/auth/roles.ts";
import type { Ctx } from "../kernel/context.ts";
import { lockRow } from "../kernel/database/lock-row.ts";
import type { ErrorCause } from "../kernel/errors.ts";
import { operation, pathIds } from "../kernel/http/operation.ts";
import { Id } from "../kernel/ids.ts";
import { clientDocument } from "./auth/client-document.ts";
import { createSignInLink, showSignIn, signInRole, startSignIn } from "./auth/sign-in.ts";
import { finishSignIn } from "./finish-sign-in.ts";
import { reconnectMcpConnection, revokeDeleted, testMcpConnection, validateNewMcpConnection } from "./manage.ts";
import {
  McpConnectionCreatedResponse,
  McpConnectionListResponse,
  McpConnectionResponse,
  McpConnectionTestResponse,
  McpReconnectResponse,
  SignInLinkResponse,
} from "./responses.ts";
import { McpConnectionCreate, McpConnectionListQuery, McpConnectionReconnect, McpConnectionRename } from "./schema.ts";
import { recordTest } from "./status.ts";
import {
  getMcpConnection,
  insertMcpConnection,
  listMcpConnections,
  type McpConnectionRow,
  removeMcpConnection,
  renameMcpConnection,
  showMcpConnection,
} from "./store.ts";
import { validateTarget } from "./validation.ts";

const params = pathIds({ id: Id("mcpConnection") });
const targetErrors: readonly ErrorCause[] = [
  "mcp_connection_invalid",
  "mcp_connection_authentication_failed",
  "mcp_connection_unreachable",
  "mcp_connection_discovery_failed",
];

/** The operations on MCP connections (`/v1/mcp-connections`), and the pages of a sign-in (`/connect`). */
export function mcpConnectionRoutes(ctx: Ctx) {
  return new Elysia().use(collectionRoutes(ctx)).use(recordRoutes(ctx)).use(serverRoutes(ctx)).use(signInRoutes(ctx));
}

function collectionRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/mcp-connections" })
    .get(
      "",
      operation(ctx, {
        id: "mcpConnections.list",
        role: "reader",
        summary: "List MCP connections",
        query: McpConnectionListQuery,
        success: 200,
        response: McpConnectionListResponse,
        errors: ["invalid_cursor"],
        handle: async ({ sql, principal, tenantId, query }) => {
          const { rows, end } = await listMcpConnections(sql, tenantId, query);
          const shown = rows.map((row) => withFragmentFor(principal, showMcpConnection(row)));
          return { mcpConnections: shown, ...end };
        },
      }),
    )
    .post(
      "",
      operation(ctx, {
        id: "mcpConnections.create",
        role: "editor",
        audit: "mcp_connection.create",
        summary: "Create an MCP connection",
        body: McpConnectionCreate,
        success: 201,
        response: McpConnectionCreatedResponse,
        errors: [...targetErrors, "mcp_connection_limit_reached", "mcp_connection_name_conflict"],
        handle: async ({ sql, commit, tenantId, body }) => {
          const { made, leftOut } = await validateNewMcpConnection(ctx, sql, tenantId, body);
          return commit(async (inner) => ({ ...showMcpConnection(await insertMcpConnection(inner, made)), leftOut }));
        },
      }),
    );
}

function recordRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/mcp-connections" })
    .get(
      "/:id",
      operation(ctx, {
        id: "mcpConnections.get",
        role: "reader",
        summary: "Read an MCP connection",
        params,
        success: 200,
        response: McpConnectionResponse,
        errors: ["not_found"],
        handle: async ({ sql, principal, tenantId, params: { id } }) =>
          withFragmentFor(principal, showMcpConnection(await getMcpConnection(sql, tenantId, id))),
      }),
    )
    .patch(
      "/:id",
      operation(ctx, {
        id: "mcpConnections.update",
        role: "editor",
        audit: "mcp_connection.update",
        summary: "Rename an MCP connection",
        params,
        body: McpConnectionRename,
        success: 200,
        response: McpConnectionResponse,
        errors: ["not_found", "mcp_connection_name_conflict"],
        handle: ({ commit, tenantId, params: { id }, body }) =>
          commit(async (inner, note) => {
            await lockRow(inner, "mcp_connections", tenantId, id);
            note.before = await getMcpConnection(inner, tenantId, id);
            return showMcpConnection(await renameMcpConnection(inner, tenantId, id, body.name));
          }),
      }),
    )
    .delete(
      "/:id",
      operation(ctx, {
        id: "mcpConnections.delete",
        role: "editor",
        audit: "mcp_connection.delete",
        summary: "Delete an MCP connection",
        params,
        success: 204,
        errors: ["not_found", "mcp_connection_in_use"],
        handle: async ({ commit, tenantId, params: { id } }) => {
          let deleted: McpConnectionRow | undefined;
          const response = await commit(async (inner) => {
            deleted = await removeMcpConnection(inner, tenantId, id);
          });
          if (deleted !== undefined) await revokeDeleted(ctx, deleted);
          return response;
        },
      }),
    );
}

function serverRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/mcp-connections/:id" })
    .post(
      "/test",
      operation(ctx, {
        id: "mcpConnections.test",
        role: "editor",
        audit: "mcp_connection.test",
        summary: "Test an MCP connection",
        params,
        success: 200,
        response: McpConnectionTestResponse,
        errors: ["not_found"],
        handle: async ({ sql, commit, tenantId, params: { id } }) => {
          const row = await getMcpConnection(sql, tenantId, id);
          const { result, failure } = await testMcpConnection(ctx, row);
          return commit(async (inner) => {
            await recordTest(inner, row, failure);
            return result;
          });
        },
      }),
    )
    .post(
      "/reconnect",
      operation(ctx, {
        id: "mcpConnections.reconnect",
        role: "editor",
        audit: "mcp_connection.reconnect",
        summary: "Replace an MCP connection's URL and credentials",
        params,
        body: McpConnectionReconnect,
        success: 200,
        response: McpReconnectResponse,
        errors: [...targetErrors, "not_found", "mcp_connection_stale_credential_version"],
        handle: async ({ sql, commit, tenantId, params: { id }, body }) => {
          const before = await getMcpConnection(sql, tenantId, id);
          const checked = await validateTarget(ctx, id, body);
          return commit((inner, note) => {
            note.before = showMcpConnection(before);
            note.also = { status: McpConnectionResponse.properties.status };
            return reconnectMcpConnection(inner, before, checked);
          });
        },
      }),
    )
    .post(
      "/connect",
      operation(ctx, {
        id: "mcpConnections.createSignInLink",
        role: signInRole,
        audit: "mcp_connection.connect",
        summary: "Get a link to sign in to an MCP connection's server",
        params,
        success: 200,
        response: SignInLinkResponse,
        errors: ["dashboard_required", "sign_in_missing", "sign_in_not_awaited"],
        handle: ({ commit, principal, params: { id } }) =>
          commit((inner) => createSignInLink(ctx, inner, principal, id)),
      }),
    );
}

/** Pages for a person's browser, authorized by the link's token and the flow's `state`. */
function signInRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/connect" })
    .get("/mcp/:token", ({ params, request }) => showSignIn(ctx, params.token, request))
    .post("/mcp/:token", ({ params, request }) => startSignIn(ctx, params.token, request), { parse: "none" })
    .get("/mcp-client", () => Response.json(clientDocument(ctx)))
    .get("/mcp-callback", ({ request }) => finishSignIn(ctx, request));
}
