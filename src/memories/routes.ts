import { Elysia } from "elysia";
import type { Ctx } from "../kernel/context.ts";
import { lockRow } from "../kernel/database/lock-row.ts";
import { operation, pathIds } from "../kernel/http/operation.ts";
import { readLimit } from "../kernel/http/page.ts";
import { Reply } from "../kernel/http/reply.ts";
import { Id } from "../kernel/ids.ts";
import { MemoryListResponse, MemoryResponse } from "./responses.ts";
import { MemoryCreate, MemoryQuery, MemoryUpdate, memoryPage } from "./schema.ts";
import { createMemory, deleteMemory, getMemory, listMemories, updateMemory } from "./store.ts";

const ofAgent = pathIds({ agentId: Id("agent") });
const params = pathIds({ agentId: Id("agent"), memoryId: Id("memory") });

/** Memories of an agent: `/v1/agents/:agentId/memories`. */
export function memoryRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/agents/:agentId/memories" })
    .post(
      "",
      operation(ctx, {
        id: "memories.create",
        role: "editor",
        stores: "own",
        audit: "memory.create",
        summary: "Create a memory",
        params: ofAgent,
        body: MemoryCreate,
        success: 201,
        response: MemoryResponse,
        headers: ["Location"],
        errors: ["not_found"],
        handle: ({ commit, tenantId, params: { agentId }, body }) =>
          commit(async (inner) => {
            const memory = await createMemory(inner, { tenantId, agentId }, body.text, body.userId ?? "");
            return new Reply(memory, { headers: { Location: `/v1/agents/${agentId}/memories/${memory.id}` } });
          }),
      }),
    )
    .get(
      "",
      operation(ctx, {
        id: "memories.list",
        role: "reader",
        summary: "List an agent's memories",
        params: ofAgent,
        query: MemoryQuery,
        success: 200,
        response: MemoryListResponse,
        errors: ["invalid_cursor"],
        handle: ({ sql, tenantId, params: { agentId }, query: { userId, search, cursor, limit } }) =>
          listMemories(sql, { tenantId, agentId }, { userId, search, cursor, limit: readLimit(limit, memoryPage) }),
      }),
    )
    .use(oneMemoryRoutes(ctx));
}

function oneMemoryRoutes(ctx: Ctx) {
  return new Elysia()
    .get(
      "/:memoryId",
      operation(ctx, {
        id: "memories.get",
        role: "reader",
        summary: "Get a memory",
        params,
        success: 200,
        response: MemoryResponse,
        errors: ["not_found"],
        handle: ({ sql, tenantId, params: { agentId, memoryId } }) => getMemory(sql, { tenantId, agentId }, memoryId),
      }),
    )
    .patch(
      "/:memoryId",
      operation(ctx, {
        id: "memories.update",
        role: "editor",
        stores: "body",
        audit: "memory.update",
        summary: "Update a memory's text",
        params,
        body: MemoryUpdate,
        success: 200,
        response: MemoryResponse,
        errors: ["not_found"],
        handle: ({ commit, tenantId, params: { agentId, memoryId }, body }) =>
          commit(async (inner, note) => {
            await lockRow(inner, "memories", tenantId, memoryId);
            note.before = await getMemory(inner, { tenantId, agentId }, memoryId);
            return updateMemory(inner, { tenantId, agentId }, memoryId, body.text);
          }),
      }),
    )
    .delete(
      "/:memoryId",
      operation(ctx, {
        id: "memories.delete",
        role: "editor",
        audit: "memory.delete",
        summary: "Delete a memory",
        params,
        success: 204,
        errors: ["not_found"],
        handle: ({ commit, tenantId, params: { agentId, memoryId } }) =>
          commit((inner) => deleteMemory(inner, { tenantId, agentId }, memoryId)),
      }),
    );
}
