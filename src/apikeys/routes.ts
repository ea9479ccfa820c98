import { Elysia } from "elysia";
import { requireNoMore, roleDefault } from "../kernel/auth/roles.ts";
import type { Ctx } from "../kernel/context.ts";
import { invalid } from "../kernel/errors.ts";
import { readDateTime } from "../kernel/http/date-time.ts";
import { operation, pathIds } from "../kernel/http/operation.ts";
import { Id } from "../kernel/ids.ts";
import { ApiKeyCreatedResponse, ApiKeyListResponse } from "./responses.ts";
import { ApiKeyCreate, ApiKeyListQuery } from "./schema.ts";
import { createApiKey, deleteApiKey, listApiKeys } from "./store.ts";

/** API keys: `/v1/apikeys`. */
export function apiKeyRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/apikeys" })
    .post(
      "",
      operation(ctx, {
        id: "apiKeys.create",
        role: "admin",
        audit: "api_key.create",
        summary: "Create an API key",
        description:
          "`role` says what it may do, `agentIds` with which agents; left out, everything with all of them. No key makes one that may do more than itself.",
        body: ApiKeyCreate,
        success: 201,
        response: ApiKeyCreatedResponse,
        errors: ["invalid_request", "not_found"],
        invalidAs: "invalid_request",
        handle: async ({ commit, tenantId, principal, body }) => {
          const expiresAt = futureDate(body.expiresAt);
          const may = { role: body.role ?? roleDefault, agentIds: body.agentIds ?? null };
          requireNoMore(principal, may, "admin");
          return commit((inner) => createApiKey(inner, tenantId, body.name, expiresAt, may));
        },
      }),
    )
    .get(
      "",
      operation(ctx, {
        id: "apiKeys.list",
        role: "admin",
        summary: "List API keys",
        query: ApiKeyListQuery,
        success: 200,
        response: ApiKeyListResponse,
        errors: ["invalid_cursor"],
        handle: ({ sql, tenantId, principal, query }) => listApiKeys(sql, tenantId, query, principal.agentIds),
      }),
    )
    .delete(
      "/:id",
      operation(ctx, {
        id: "apiKeys.delete",
        role: "admin",
        audit: "api_key.delete",
        endsAccess: true,
        summary: "Delete an API key",
        params: pathIds({ id: Id("apiKey") }),
        success: 204,
        errors: ["not_found"],
        handle: ({ commit, tenantId, params }) => commit((inner) => deleteApiKey(inner, tenantId, params.id)),
      }),
    );
}

/** Reads an expiry. Throws 400 for a date that does not exist or is not in the future. */
function futureDate(expiresAt: string | null | undefined): Date | null {
  if (expiresAt === undefined || expiresAt === null) return null;
  const date = readDateTime(expiresAt);
  if (date === null) throw invalid("/expiresAt", "is not a moment that exists");
  if (date.getTime() <= Date.now()) throw invalid("/expiresAt", "must be in the future");
  return date;
}
