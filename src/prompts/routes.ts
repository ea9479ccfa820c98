import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { lockRow } from "../kernel/database/lock-row.ts";
import { operation, pathIds } from "../kernel/http/operation.ts";
import { Id } from "../kernel/ids.ts";
import { PromptListResponse, PromptResponse } from "./responses.ts";
import { PromptCreate, PromptQuery, PromptUpdate } from "./schema.ts";
import { createPrompt, deletePrompt, getPrompt, listPrompts, updatePrompt } from "./store.ts";

/** Prompts: `/v1/prompts`. */
export function promptRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/prompts" })
    .post(
      "",
      operation(ctx, {
        id: "prompts.create",
        role: "editor",
        stores: "body",
        audit: "prompt.create",
        summary: "Create a prompt",
        body: PromptCreate,
        success: 201,
        response: PromptResponse,
        errors: ["invalid_request"],
        handle: ({ commit, tenantId, body }) => commit((inner) => createPrompt(inner, tenantId, body)),
      }),
    )
    .get(
      "",
      operation(ctx, {
        id: "prompts.list",
        role: "reader",
        summary: "List prompts",
        query: PromptQuery,
        success: 200,
        response: PromptListResponse,
        errors: ["invalid_cursor"],
        handle: ({ sql, tenantId, query }) => listPrompts(sql, tenantId, query),
      }),
    )
    .use(onePromptRoutes(ctx));
}

function onePromptRoutes(ctx: Ctx) {
  const params = pathIds({ promptId: Id("prompt") });
  return new Elysia()
    .get(
      "/:promptId",
      operation(ctx, {
        id: "prompts.get",
        role: "reader",
        summary: "Get a prompt",
        params,
        success: 200,
        response: PromptResponse,
        errors: ["not_found"],
        handle: ({ sql, tenantId, params: { promptId } }) => getPrompt(sql, tenantId, promptId),
      }),
    )
    .patch(
      "/:promptId",
      operation(ctx, {
        id: "prompts.update",
        role: "editor",
        stores: "body",
        audit: "prompt.update",
        summary: "Update a prompt",
        params,
        body: PromptUpdate,
        success: 200,
        response: PromptResponse,
        errors: ["not_found", "invalid_request"],
        handle: ({ commit, tenantId, params: { promptId }, body }) =>
          commit(async (inner, note) => {
            await lockRow(inner, "prompts", tenantId, promptId);
            note.before = await getPrompt(inner, tenantId, promptId);
            return updatePrompt(inner, tenantId, promptId, body);
          }),
      }),
    )
    .delete(
      "/:promptId",
      operation(ctx, {
        id: "prompts.delete",
        role: "editor",
        audit: "prompt.delete",
        summary: "Delete a prompt",
        params,
        success: 204,
        errors: ["not_found"],
        handle: ({ commit, tenantId, params: { promptId } }) =>
          commit((inner) => deletePrompt(inner, tenantId, promptId)),
      }),
    );
}
