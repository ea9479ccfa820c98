import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { operation, pathIds } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { Id, newId } from "../kernel/ids.ts";
import { checkTenantUrl } from "../kernel/outbound/address.ts";
import { webhookDeliveryRoutes } from "./delivery-routes.ts";
import { deleteWebhook } from "./purge.ts";
import { WebhookListResponse, WebhookResponse, WebhookWithSecretResponse } from "./responses.ts";
import { WebhookCreate, WebhookListQuery, WebhookUpdate } from "./schema.ts";
import { newWebhookSecret, previousSecretSealedFor } from "./secret.ts";
import {
  getWebhook,
  insertWebhook,
  listWebhooks,
  lockWebhook,
  replaceSecret,
  showWebhook,
  updateWebhook,
} from "./store.ts";

const params = pathIds({ id: Id("webhook") });

/** Webhooks and their deliveries: `/v1/webhooks`. */
export function webhookRoutes(ctx: Ctx) {
  return new Elysia().use(collectionRoutes(ctx)).use(recordRoutes(ctx)).use(webhookDeliveryRoutes(ctx));
}

function collectionRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/webhooks" })
    .get(
      "",
      operation(ctx, {
        id: "webhooks.list",
        role: "reader",
        summary: "List webhooks, newest first",
        query: WebhookListQuery,
        success: 200,
        response: WebhookListResponse,
        errors: ["invalid_cursor"],
        handle: ({ sql, principal: { agentIds }, tenantId, query: { cursor, limit } }) =>
          listWebhooks(sql, tenantId, { agentIds, cursor, limit: readLimit(limit) }),
      }),
    )
    .post(
      "",
      operation(ctx, {
        id: "webhooks.create",
        role: "editor",
        audit: "webhook.create",
        summary: "Create a webhook",
        description: "`secret` signs what is sent, by Standard Webhooks. It is shown here and never again.",
        body: WebhookCreate,
        success: 201,
        response: WebhookWithSecretResponse,
        errors: ["webhook_limit_reached"],
        handle: async ({ commit, principal, tenantId, body }) => {
          const { url, events, description = "", enabled = true } = body;
          checkTenantUrl("/url", url, ctx.config.allowPrivateNetwork);
          const id = newId("webhook");
          const secret = newWebhookSecret();
          const sealedSecret = ctx.sealer.seal(secret, id);
          // It is told of no agent that its maker does not reach.
          const agentIds = principal.agentIds === null ? null : [...principal.agentIds];
          const made = { id, tenantId, url, events, description, enabled, agentIds, sealedSecret };
          return commit(async (inner) => ({ ...showWebhook(await insertWebhook(inner, made)), secret }));
        },
      }),
    );
}

function recordRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/webhooks" })
    .get(
      "/:id",
      operation(ctx, {
        id: "webhooks.get",
        role: "reader",
        summary: "Read a webhook",
        params,
        success: 200,
        response: WebhookResponse,
        errors: ["not_found"],
        handle: async ({ sql, tenantId, params: { id } }) => showWebhook(await getWebhook(sql, tenantId, id)),
      }),
    )
    .patch(
      "/:id",
      operation(ctx, {
        id: "webhooks.update",
        role: "editor",
        audit: "webhook.update",
        summary: "Change a webhook",
        params,
        body: WebhookUpdate,
        success: 200,
        response: WebhookResponse,
        errors: ["not_found"],
        handle: async ({ commit, tenantId, params: { id }, body }) => {
          if (body.url !== undefined) checkTenantUrl("/url", body.url, ctx.config.allowPrivateNetwork);
          return commit(async (inner, note) => {
            const before = await lockWebhook(inner, tenantId, id);
            note.before = showWebhook(before);
            return showWebhook(await updateWebhook(inner, before, body));
          });
        },
      }),
    )
    .delete(
      "/:id",
      operation(ctx, {
        id: "webhooks.delete",
        role: "editor",
        audit: "webhook.delete",
        summary: "Delete a webhook with its deliveries",
        params,
        success: 204,
        errors: ["not_found"],
        handle: ({ commit, tenantId, params: { id } }) => commit((inner) => deleteWebhook(inner, tenantId, id)),
      }),
    )
    .post(
      "/:id/rotate-secret",
      operation(ctx, {
        id: "webhooks.rotateSecret",
        role: "editor",
        audit: "webhook.rotate_secret",
        summary: "Replace a webhook's secret",
        description:
          "For 24 hours each request has two signatures, one by the new secret and one by the secret before. A second rotation within them ends the older one at once.",
        params,
        success: 200,
        response: WebhookWithSecretResponse,
        errors: ["not_found"],
        handle: ({ commit, tenantId, params: { id } }) =>
          commit(async (inner, note) => {
            const before = await lockWebhook(inner, tenantId, id);
            const secret = newWebhookSecret();
            const row = await replaceSecret(inner, before.id, {
              sealedSecret: ctx.sealer.seal(secret, before.id),
              sealedPreviousSecret: ctx.sealer.seal(
                ctx.sealer.open(before.sealedSecret, before.id),
                previousSecretSealedFor(before.id),
              ),
            });
            note.changes = ["secret"];
            return { ...showWebhook(row), secret };
          }),
      }),
    );
}
