import { Elysia } from "elysia";
import { apiKeyFault } from "../kernel/api-key-fault.ts";
import { withFragmentFor } from "../kernel/auth/roles.ts";
import { type ProviderType, providerTypeOf } from "../kernel/config.ts";
import type { Ctx } from "../kernel/context.ts";
import type { AnySql } from "../kernel/database/client.ts";
import { lockRow } from "../kernel/database/lock-row.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import { operation, pathIds } from "../kernel/http/operation.ts";
import { Id, newId } from "../kernel/ids.ts";
import { checkTenantUrl } from "../kernel/outbound/address.ts";
import { fragment } from "../kernel/seal.ts";
import { listModels, thinkingLevelsOf } from "./models.ts";
import { deleteProvider } from "./remove.ts";
import {
  ProviderListResponse,
  ProviderModelListResponse,
  ProviderResponse,
  ThinkingLevelsResponse,
} from "./responses.ts";
import {
  type Provider,
  ProviderCreate,
  ProviderDeleteQuery,
  type ProviderItem,
  ProviderListQuery,
  ProviderRename,
  ThinkingLevelsQuery,
} from "./schema.ts";
import { createProvider, findProvider, listProviders, type ProviderRow, renameProvider } from "./store.ts";

const params = pathIds({ id: Id("provider") });

/** Providers, their models and thinking levels: `/v1/providers`. */
export function providerRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/providers" })
    .use(collectionRoutes(ctx))
    .use(recordRoutes(ctx))
    .use(discoveryRoutes(ctx));
}

function collectionRoutes(ctx: Ctx) {
  return new Elysia()
    .get(
      "",
      operation(ctx, {
        id: "providers.list",
        role: "reader",
        summary: "List providers",
        query: ProviderListQuery,
        success: 200,
        response: ProviderListResponse,
        errors: ["invalid_cursor"],
        handle: async ({ sql, tenantId, query }) => {
          const { rows, end } = await listProviders(sql, tenantId, query);
          return { providers: rows.map(showItem), ...end };
        },
      }),
    )
    .post(
      "",
      operation(ctx, {
        id: "providers.create",
        role: "editor",
        audit: "provider.create",
        summary: "Create a provider",
        body: ProviderCreate,
        success: 201,
        response: ProviderResponse,
        errors: ["provider_limit_reached", "provider_name_conflict"],
        handle: async ({ commit, tenantId, body }) => {
          const providerType = providerTypeOf(body.providerType) as ProviderType;
          const baseUrl = body.baseUrl ?? null;
          checkBaseUrl(providerType, baseUrl, ctx.config.allowPrivateNetwork);
          const fault = apiKeyFault(body.apiKey);
          if (fault !== null) throw invalid("/apiKey", fault);
          const id = newId("provider");
          const sealedKey = ctx.sealer.seal(body.apiKey, id);
          const keyFragment = fragment(body.apiKey);
          const made = { id, name: body.name, providerType, baseUrl, sealedKey, keyFragment };
          return commit(async (inner) => show(await createProvider(inner, tenantId, made)));
        },
      }),
    );
}

function recordRoutes(ctx: Ctx) {
  return new Elysia()
    .get(
      "/:id",
      operation(ctx, {
        id: "providers.get",
        role: "reader",
        summary: "Read a provider",
        params,
        success: 200,
        response: ProviderResponse,
        errors: ["provider_not_found"],
        handle: async ({ sql, principal, tenantId, params: { id } }) =>
          withFragmentFor(principal, show(await findOrThrow(sql, tenantId, id))),
      }),
    )
    .patch(
      "/:id",
      operation(ctx, {
        id: "providers.update",
        role: "editor",
        audit: "provider.update",
        summary: "Rename a provider",
        params,
        body: ProviderRename,
        success: 200,
        response: ProviderResponse,
        errors: ["provider_not_found", "provider_name_conflict"],
        handle: ({ commit, tenantId, params: { id }, body }) =>
          commit(async (inner, note) => {
            await lockRow(inner, "providers", tenantId, id);
            note.before = await findOrThrow(inner, tenantId, id);
            return show(await renameProvider(inner, tenantId, id, body.name));
          }),
      }),
    )
    .delete(
      "/:id",
      operation(ctx, {
        id: "providers.delete",
        role: "editor",
        audit: "provider.delete",
        summary: "Delete a provider",
        params,
        query: ProviderDeleteQuery,
        success: 204,
        errors: ["provider_not_found", "provider_in_use", "provider_historical_use"],
        handle: ({ commit, tenantId, params: { id }, query }) =>
          commit((inner) => deleteProvider(inner, tenantId, id, query.confirmVersionInvalidation === "true")),
      }),
    );
}

function discoveryRoutes(ctx: Ctx) {
  return new Elysia()
    .get(
      "/:id/models",
      operation(ctx, {
        id: "providers.listModels",
        role: "reader",
        summary: "List a provider's models",
        params,
        success: 200,
        response: ProviderModelListResponse,
        errors: ["provider_not_found", "model_discovery_unsupported", "model_validation_unavailable"],
        handle: async ({ sql, tenantId, params: { id } }) => {
          const models = await listModels(ctx, await findOrThrow(sql, tenantId, id));
          return { models: models.map((model) => ({ id: model })) };
        },
      }),
    )
    .get(
      "/:id/thinking-levels",
      operation(ctx, {
        id: "providers.listThinkingLevels",
        role: "reader",
        summary: "List a model's thinking levels",
        params,
        query: ThinkingLevelsQuery,
        success: 200,
        response: ThinkingLevelsResponse,
        errors: ["provider_not_found"],
        handle: async ({ sql, tenantId, params: { id }, query }) =>
          thinkingLevelsOf(ctx, await findOrThrow(sql, tenantId, id), query.model),
      }),
    );
}

async function findOrThrow(sql: AnySql, tenantId: string, id: string): Promise<ProviderRow> {
  const row = await findProvider(sql, tenantId, id);
  if (row === null) throw new ApiError("provider_not_found");
  return row;
}

/**
 * `baseUrl` is required for `custom`, refused for `gateway`, and must be an address that may be
 * called (docs/decisions/private-addresses.md). Throws 400.
 */
function checkBaseUrl(providerType: ProviderType, baseUrl: string | null, allowPrivate: boolean): void {
  if (providerType === "gateway" && baseUrl !== null) throw invalid("/baseUrl", "is not taken for this provider type");
  if (providerType === "custom" && baseUrl === null) throw invalid("/baseUrl", "is required for this provider type");
  if (baseUrl === null) return;
  checkTenantUrl("/baseUrl", baseUrl, allowPrivate);
  // Paths are appended to it, so a query would end up in the middle.
  if (/[?#\s]/.test(baseUrl)) throw invalid("/baseUrl", "must have no query, fragment or space");
}

function showItem({ id, name, providerType, createdAt, updatedAt }: ProviderRow): ProviderItem {
  return { id, name, providerType, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}

function show(row: ProviderRow): Provider {
  return { ...showItem(row), baseUrl: row.baseUrl, keyFragment: row.keyFragment };
}
