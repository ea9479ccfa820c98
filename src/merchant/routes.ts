import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { operation } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { deleteBinding, listBindings, putBinding } from "./bindings.ts";
import { readMerchantConnection, updateMerchantConnection, verifyMerchant } from "./connect.ts";
import {
  CurrentMerchantConnectionResponse,
  MerchantBindingListResponse,
  MerchantBindingResponse,
  MerchantConnectionResponse,
} from "./responses.ts";
import { BindingPath, BindingPut, BindingQuery, MerchantConnectionCreate, MerchantConnectionUpdate } from "./schema.ts";
import {
  deleteCurrentConnection,
  getCurrentConnection,
  replaceCurrentConnection,
  showMerchantConnection,
} from "./store.ts";

/** The operations on the tenant's merchant connection and its bindings: `/v1/merchant-connection`. */
export function merchantRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/merchant-connection" }).use(connectionRoutes(ctx)).use(bindingRoutes(ctx));
}

function connectionRoutes(ctx: Ctx) {
  return new Elysia()
    .get(
      "",
      operation(ctx, {
        id: "merchantConnection.get",
        role: "admin",
        summary: "Read the merchant connection",
        success: 200,
        response: CurrentMerchantConnectionResponse,
        handle: ({ sql, tenantId }) => readMerchantConnection(sql, tenantId),
      }),
    )
    .post(
      "",
      operation(ctx, {
        id: "merchantConnection.create",
        role: "admin",
        allAgents: true,
        audit: "merchant_connection.create",
        summary: "Connect a billing provider, in the place of the current connection",
        body: MerchantConnectionCreate,
        success: 201,
        response: MerchantConnectionResponse,
        errors: ["merchant_credential_invalid", "merchant_provider_unavailable"],
        handle: async ({ commit, tenantId, body }) => {
          const made = await verifyMerchant(ctx, tenantId, body);
          return commit(async (inner) => ({
            connection: showMerchantConnection(await replaceCurrentConnection(inner, made)),
          }));
        },
      }),
    )
    .patch(
      "",
      operation(ctx, {
        id: "merchantConnection.update",
        role: "admin",
        allAgents: true,
        audit: "merchant_connection.update",
        summary: "Change the merchant connection's credential, status or guard",
        body: MerchantConnectionUpdate,
        success: 200,
        response: MerchantConnectionResponse,
        errors: [
          "merchant_connection_not_found",
          "merchant_account_mismatch",
          "merchant_credential_invalid",
          "merchant_provider_unavailable",
        ],
        handle: async ({ sql, commit, tenantId, body }) => {
          const write = await updateMerchantConnection(ctx, sql, tenantId, body);
          return commit(async (inner, note) => {
            const { before, after } = await write(inner);
            note.before = before;
            return { connection: after };
          });
        },
      }),
    )
    .delete(
      "",
      operation(ctx, {
        id: "merchantConnection.delete",
        role: "admin",
        allAgents: true,
        audit: "merchant_connection.delete",
        summary: "Delete the merchant connection",
        success: 204,
        errors: ["merchant_connection_not_found"],
        handle: ({ commit, tenantId }) =>
          commit(async (inner, note) => {
            note.resourceId = (await getCurrentConnection(inner, tenantId)).id;
            await deleteCurrentConnection(inner, tenantId);
          }),
      }),
    );
}

function bindingRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/bindings" })
    .get(
      "",
      operation(ctx, {
        id: "merchantBindings.list",
        role: "admin",
        summary: "List the bindings of end users to customers",
        query: BindingQuery,
        success: 200,
        response: MerchantBindingListResponse,
        errors: ["merchant_connection_not_found", "invalid_cursor"],
        handle: ({ sql, tenantId, query: { userId, cursor, limit } }) =>
          listBindings(sql, tenantId, { userId, cursor, limit: readLimit(limit) }),
      }),
    )
    .put(
      "/:userId",
      operation(ctx, {
        id: "merchantBindings.set",
        role: "admin",
        audit: "merchant_binding.set",
        summary: "Bind an end user to a customer",
        params: BindingPath,
        body: BindingPut,
        success: 200,
        response: MerchantBindingResponse,
        errors: ["merchant_connection_not_found", "merchant_customer_not_found", "merchant_provider_unavailable"],
        handle: async ({ sql, commit, tenantId, params, body }) => {
          const write = await putBinding(ctx, sql, tenantId, params.userId, body.customerId);
          return commit(async (inner, note) => {
            const { before, after } = await write(inner);
            if (before !== null) note.before = before;
            note.after = after;
            return { binding: after };
          });
        },
      }),
    )
    .delete(
      "/:userId",
      operation(ctx, {
        id: "merchantBindings.delete",
        role: "admin",
        audit: "merchant_binding.delete",
        summary: "Delete a binding",
        params: BindingPath,
        success: 204,
        errors: ["merchant_connection_not_found", "merchant_binding_not_found"],
        handle: ({ commit, tenantId, params }) => commit((inner) => deleteBinding(inner, tenantId, params.userId)),
      }),
    );
}
