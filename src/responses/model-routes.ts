import { Elysia } from "elysia";
import { type AgentRow, getAgent, listAgents } from "../agents/store.ts";
import type { Ctx } from "../kernel/context.ts";
import { operation, pathIds } from "../kernel/http/operation.ts";
import { Id } from "../kernel/ids.ts";
import { ModelListResponse, ModelResponse } from "./responses.ts";

/** The agents of a tenant as OpenAI's clients list models: `/v1/models`. */
export function modelRoutes(ctx: Ctx) {
  return new Elysia({ prefix: "/v1/models" })
    .get(
      "",
      operation(ctx, {
        id: "models.list",
        role: "reader",
        protocolErrors: true,
        summary: "List the agents as models",
        description: "All agents of the tenant, most recently updated first, in the shape of OpenAI's list of models.",
        success: 200,
        response: ModelListResponse,
        handle: async ({ sql, tenantId, principal }) => {
          const { rows } = await listAgents(sql, tenantId, {}, principal.agentIds);
          return { object: "list", data: rows.map(showModel) };
        },
      }),
    )
    .get(
      "/:model",
      operation(ctx, {
        id: "models.get",
        role: "reader",
        protocolErrors: true,
        summary: "Read an agent as a model",
        params: pathIds({ model: Id("agent") }),
        success: 200,
        response: ModelResponse,
        errors: ["not_found"],
        handle: async ({ sql, tenantId, params }) => showModel(await getAgent(sql, tenantId, params.model)),
      }),
    );
}

function showModel({ id, tenantId, config, createdAt }: AgentRow) {
  const created = Math.floor(createdAt.getTime() / 1000);
  return { id, object: "model", created, owned_by: tenantId, name: config.name };
}
