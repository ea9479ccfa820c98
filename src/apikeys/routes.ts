import { Elysia } from "elysia";
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
        audit: "api_key.create",
        summary: "Create an API key",
        body: ApiKeyCreate,
        success: 201,
        response: ApiKeyCreatedResponse,
        errors: ["invalid_request"],
        invalidAs: "invalid_request",
        handle: async ({ commit, tenantId, body }) => {
          const expiresAt = futureDate(body.expiresAt);
          return commit((inner) => createApiKey(inner, tenantId, body.name, expiresAt));
        },
      }),
    )
    .get(
      "",
      operation(ctx, {
        id: "apiKeys.list",
        summary: "List API keys",
        query: ApiKeyListQuery,
        success: 200,
        response: ApiKeyListResponse,
        errors: ["invalid_cursor"],
        handle: ({ sql, tenantId, query }) => listApiKeys(sql, tenantId, query),
      }),
    )
    .delete(
      "/:id",
      operation(ctx, {
        id: "apiKeys.delete",
        audit: "api_key.delete",
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
