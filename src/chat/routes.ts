import { Elysia } from "elysia";
import type { AuditAction } from "../kernel/audit/record.ts";
import { withFragmentFor } from "../kernel/auth/roles.ts";
import type { Ctx } from "../kernel/context.ts";
import type { Tx } from "../kernel/database/client.ts";
import { type OperationId, operation, pathIds } from "../kernel/http/operation.ts";
import { Id } from "../kernel/ids.ts";
import { listAttention, listDeliveries, repairDelivery } from "./delivery-lists.ts";
import {
  changeChatConnection,
  checkChatConnection,
  createChatConnection,
  disableChatConnection,
  enableChatConnection,
  type RecordChange,
  unregister,
} from "./manage.ts";
import {
  ChatAttentionListResponse,
  ChatConnectionListResponse,
  ChatConnectionResponse,
  ChatDeliveryListResponse,
  ChatDeliveryRepairResponse,
} from "./responses.ts";
import {
  ChatAttentionQuery,
  ChatConnectionCreate,
  ChatConnectionListQuery,
  ChatConnectionPatch,
  ChatDeliveryQuery,
  ChatDeliveryRepair,
} from "./schema.ts";
import { showChatConnection } from "./show.ts";
import { type ChatConnectionRow, getChatConnection, listChatConnections, removeChatConnection } from "./store.ts";

const params = pathIds({ id: Id("chatConnection") });

/** The operations on chat connections and their deliveries. */
export function chatRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1" })
    .use(collectionRoutes(ctx))
    .use(recordRoutes(ctx))
    .use(stateRoutes(ctx))
    .use(deliveryRoutes(ctx));
}

function collectionRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/chat-connections" })
    .get(
      "",
      operation(ctx, {
        id: "chatConnections.list",
        role: "reader",
        summary: "List chat connections",
        query: ChatConnectionListQuery,
        success: 200,
        response: ChatConnectionListResponse,
        errors: ["invalid_cursor"],
        handle: async ({ sql, principal, tenantId, query }) => {
          const { rows, end } = await listChatConnections(sql, tenantId, query, principal.agentIds);
          const shown = rows.map((row) => withFragmentFor(principal, showChatConnection(ctx, row)));
          return { chatConnections: shown, ...end };
        },
      }),
    )
    .post(
      "",
      operation(ctx, {
        id: "chatConnections.create",
        role: "editor",
        audit: "chat_connection.create",
        summary: "Connect an agent to a chat app",
        body: ChatConnectionCreate,
        success: 201,
        response: ChatConnectionResponse,
        errors: ["invalid_request", "not_found"],
        handle: async ({ sql, commit, audit, reservation, tenantId, body }) => {
          const record = (inner: Tx, made: ChatConnectionRow) => audit.write(inner, {}, showChatConnection(ctx, made));
          const write = await createChatConnection(ctx, sql, { reservation, record }, tenantId, body);
          return commit(async (inner, note) => {
            note.isWritten = true;
            return showChatConnection(ctx, await write(inner));
          });
        },
      }),
    );
}

function recordRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/chat-connections" })
    .get(
      "/:id",
      operation(ctx, {
        id: "chatConnections.get",
        role: "reader",
        summary: "Read a chat connection",
        params,
        success: 200,
        response: ChatConnectionResponse,
        errors: ["not_found"],
        handle: async ({ sql, principal, tenantId, params: { id } }) =>
          withFragmentFor(principal, showChatConnection(ctx, await getChatConnection(sql, tenantId, id))),
      }),
    )
    .patch(
      "/:id",
      operation(ctx, {
        id: "chatConnections.update",
        role: "editor",
        audit: "chat_connection.update",
        summary: "Change a chat connection's name or configuration",
        params,
        body: ChatConnectionPatch,
        success: 200,
        response: ChatConnectionResponse,
        errors: ["invalid_request", "not_found"],
        handle: async ({ sql, audit, tenantId, params: { id }, body }) => {
          const record: RecordChange = (inner, { before, after }) =>
            audit.write(inner, { before: showChatConnection(ctx, before) }, showChatConnection(ctx, after));
          return showChatConnection(ctx, await changeChatConnection(ctx, sql, tenantId, { id, ...body }, record));
        },
      }),
    )
    .delete(
      "/:id",
      operation(ctx, {
        id: "chatConnections.delete",
        role: "editor",
        audit: "chat_connection.delete",
        summary: "Delete a chat connection",
        params,
        success: 204,
        errors: ["not_found"],
        handle: async ({ sql, commit, tenantId, params: { id } }) => {
          await unregister(ctx, await getChatConnection(sql, tenantId, id));
          return commit((inner) => removeChatConnection(inner, tenantId, id));
        },
      }),
    );
}

/** What enabling, disabling and checking change, though no body names it. */
const { enabled, health } = ChatConnectionResponse.properties;
const savedState = { enabled, health };

function stateRoutes(ctx: Ctx) {
  const change = (id: OperationId, audit: AuditAction, summary: string, work: typeof enableChatConnection) =>
    operation(ctx, {
      id,
      role: "editor",
      audit,
      summary,
      params,
      success: 200,
      response: ChatConnectionResponse,
      errors: ["not_found"],
      handle: async ({ sql, commit, tenantId, params: { id } }) => {
        const write = await work(ctx, await getChatConnection(sql, tenantId, id));
        return commit(async (inner, note) => {
          note.also = savedState;
          const { before, after } = await write(inner);
          note.before = showChatConnection(ctx, before);
          return showChatConnection(ctx, after);
        });
      },
    });
  return new Elysia({ prefix: "/chat-connections/:id" })
    .post(
      "/enable",
      change("chatConnections.enable", "chat_connection.enable", "Enable a chat connection", enableChatConnection),
    )
    .post(
      "/disable",
      change("chatConnections.disable", "chat_connection.disable", "Disable a chat connection", disableChatConnection),
    )
    .post(
      "/check",
      change("chatConnections.check", "chat_connection.check", "Check a chat connection's health", checkChatConnection),
    );
}

function deliveryRoutes(ctx: Ctx) {
  return new Elysia()
    .get(
      "/chat-connections/:id/deliveries",
      operation(ctx, {
        id: "chatDeliveries.list",
        role: "reader",
        reads: "replica",
        summary: "List a chat connection's deliveries",
        params,
        query: ChatDeliveryQuery,
        success: 200,
        response: ChatDeliveryListResponse,
        errors: ["invalid_cursor", "not_found"],
        handle: ({ sql, tenantId, params: { id }, query }) => listDeliveries(sql, tenantId, id, query),
      }),
    )
    .post(
      "/chat-connections/:id/deliveries/:deliveryId/repair",
      operation(ctx, {
        id: "chatDeliveries.repair",
        role: "editor",
        audit: "chat_delivery.repair",
        summary: "Post a failed or ambiguous delivery again",
        params: pathIds({ id: Id("chatConnection"), deliveryId: Id("chatDelivery") }),
        body: ChatDeliveryRepair,
        success: 200,
        response: ChatDeliveryRepairResponse,
        errors: ["invalid_request", "not_found"],
        handle: ({ commit, tenantId, params: { id, deliveryId }, body }) =>
          commit((inner) => repairDelivery(inner, tenantId, { connectionId: id, deliveryId }, body)),
      }),
    )
    .get(
      "/chat-deliveries",
      operation(ctx, {
        id: "chatDeliveries.listUnresolved",
        role: "reader",
        reads: "replica",
        summary: "List the tenant's failed and ambiguous deliveries",
        query: ChatAttentionQuery,
        success: 200,
        response: ChatAttentionListResponse,
        errors: ["invalid_cursor"],
        handle: ({ sql, principal, tenantId, query }) => listAttention(sql, tenantId, query, principal.agentIds),
      }),
    );
}
