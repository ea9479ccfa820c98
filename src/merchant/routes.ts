import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { operation } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { deleteBinding, listBindings, putBinding } from "./bindings.ts";
import { connectMerchant, readConnection, updateConnection } from "./connect.ts";
import { Bindings, MadeBinding, MadeConnection, ReadConnection } from "./responses.ts";
import { BindingPath, BindingPut, BindingQuery, ConnectionCreate, ConnectionUpdate } from "./schema.ts";
import { deleteCurrent } from "./store.ts";

/** The tenant's merchant connection and its bindings (document 2, "Merchant billing"). */
export function merchantRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/merchant-connection" })
    .get(
      "",
      operation(ctx, {
        summary: "Read the merchant connection",
        success: 200,
        answer: ReadConnection,
        handle: ({ sql, tenantId }) => readConnection(sql, tenantId),
      }),
    )
    .post(
      "",
      operation(ctx, {
        summary: "Connect a billing provider, in the place of the current connection",
        body: ConnectionCreate,
        success: 201,
        answer: MadeConnection,
        errors: ["merchant_credential_invalid", "merchant_provider_unavailable"],
        handle: ({ sql, tenantId, body }) => connectMerchant(ctx, sql, tenantId, body),
      }),
    )
    .patch(
      "",
      operation(ctx, {
        summary: "Change the merchant connection's credential, status or guard",
        body: ConnectionUpdate,
        success: 200,
        answer: MadeConnection,
        errors: [
          "merchant_connection_not_found",
          "merchant_account_mismatch",
          "merchant_credential_invalid",
          "merchant_provider_unavailable",
        ],
        handle: ({ sql, tenantId, body }) => updateConnection(ctx, sql, tenantId, body),
      }),
    )
    .delete(
      "",
      operation(ctx, {
        summary: "Delete the merchant connection",
        success: 204,
        errors: ["merchant_connection_not_found"],
        handle: ({ sql, tenantId }) => deleteCurrent(sql, tenantId),
      }),
    )
    .get(
      "/bindings",
      operation(ctx, {
        summary: "List the bindings of end users to customers",
        query: BindingQuery,
        success: 200,
        answer: Bindings,
        errors: ["merchant_connection_not_found", "invalid_cursor"],
        handle: ({ sql, tenantId, query: { userId, cursor, limit } }) =>
          listBindings(sql, tenantId, { userId, cursor, limit: readLimit(limit) }),
      }),
    )
    .put(
      "/bindings/:userId",
      operation(ctx, {
        summary: "Bind an end user to a customer",
        params: BindingPath,
        body: BindingPut,
        success: 200,
        answer: MadeBinding,
        errors: ["merchant_connection_not_found", "merchant_customer_not_found", "merchant_provider_unavailable"],
        handle: ({ sql, tenantId, params, body }) => putBinding(ctx, sql, tenantId, params.userId, body.customerId),
      }),
    )
    .delete(
      "/bindings/:userId",
      operation(ctx, {
        summary: "Delete a binding",
        params: BindingPath,
        success: 204,
        errors: ["merchant_connection_not_found", "merchant_binding_not_found"],
        handle: ({ sql, tenantId, params }) => deleteBinding(sql, tenantId, params.userId),
      }),
    );
}
