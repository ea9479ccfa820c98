import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import type { ErrorCause } from "../kernel/errors.ts";
import { operation, pathIds } from "../kernel/http/operation.ts";
import { Id } from "../kernel/ids.ts";
import { createConnection, deleteConnection, reconnect, testConnection } from "./manage.ts";
import { Link, Listed, Reconnected, Shown, Tested } from "./responses.ts";
import { ConnectionCreate, ConnectionReconnect, ConnectionRename } from "./schema.ts";
import { createSignInLink, finishSignIn, startSignIn } from "./sign-in.ts";
import { getConnection, listConnections, renameConnection, showConnection } from "./store.ts";

const params = pathIds({ id: Id("mcpConnection") });
const targetErrors: readonly ErrorCause[] = [
  "mcp_connection_invalid",
  "mcp_connection_authentication_failed",
  "mcp_connection_unreachable",
  "mcp_connection_discovery_failed",
];

/** MCP connections (document 2, "MCP connections"), and the pages of a sign-in. */
export function mcpConnectionRoutes(ctx: Ctx) {
  return new Elysia().use(recordRoutes(ctx)).use(serverRoutes(ctx)).use(signInRoutes(ctx));
}

function recordRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/mcp-connections" })
    .get(
      "",
      operation(ctx, {
        summary: "List MCP connections",
        success: 200,
        answer: Listed,
        handle: async ({ sql, tenantId }) => ({
          mcpConnections: (await listConnections(sql, tenantId)).map(showConnection),
        }),
      }),
    )
    .post(
      "",
      operation(ctx, {
        summary: "Create an MCP connection",
        body: ConnectionCreate,
        success: 201,
        answer: Shown,
        errors: [...targetErrors, "mcp_connection_limit_reached", "mcp_connection_name_conflict"],
        handle: ({ sql, tenantId, body }) => createConnection(ctx, sql, tenantId, body),
      }),
    )
    .get(
      "/:id",
      operation(ctx, {
        summary: "Read an MCP connection",
        params,
        success: 200,
        answer: Shown,
        errors: ["not_found"],
        handle: async ({ sql, tenantId, params: { id } }) => showConnection(await getConnection(sql, tenantId, id)),
      }),
    )
    .patch(
      "/:id",
      operation(ctx, {
        summary: "Rename an MCP connection",
        params,
        body: ConnectionRename,
        success: 200,
        answer: Shown,
        errors: ["not_found", "mcp_connection_name_conflict"],
        handle: async ({ sql, tenantId, params: { id }, body }) =>
          showConnection(await renameConnection(sql, tenantId, id, body.name)),
      }),
    )
    .delete(
      "/:id",
      operation(ctx, {
        summary: "Delete an MCP connection",
        params,
        success: 204,
        errors: ["not_found", "mcp_connection_in_use"],
        handle: ({ sql, tenantId, params: { id } }) => deleteConnection(ctx, sql, tenantId, id),
      }),
    );
}

function serverRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/mcp-connections/:id" })
    .post(
      "/test",
      operation(ctx, {
        summary: "Test an MCP connection",
        params,
        success: 200,
        answer: Tested,
        errors: ["not_found"],
        handle: ({ sql, tenantId, params: { id } }) => testConnection(ctx, sql, tenantId, id),
      }),
    )
    .post(
      "/reconnect",
      operation(ctx, {
        summary: "Replace an MCP connection's URL and credentials",
        params,
        body: ConnectionReconnect,
        success: 200,
        answer: Reconnected,
        errors: [...targetErrors, "not_found", "mcp_connection_stale_credential_version"],
        handle: ({ sql, tenantId, params: { id }, body }) => reconnect(ctx, sql, tenantId, id, body),
      }),
    )
    .post(
      "/connect",
      operation(ctx, {
        summary: "Get a link to sign in to an MCP connection's server",
        params,
        success: 200,
        answer: Link,
        errors: ["dashboard_required"],
        handle: ({ sql, principal, params: { id } }) => createSignInLink(ctx, sql, principal, id),
      }),
    );
}

/** Pages for a person's browser: the link and the flow's `state` are their credentials. */
function signInRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/connect" })
    .get("/mcp/:token", ({ params }) => startSignIn(ctx, params.token))
    .get("/mcp-callback", ({ request }) => finishSignIn(ctx, new URL(request.url).searchParams));
}
