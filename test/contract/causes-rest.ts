import { createManagedAgent } from "../../src/agents/managed.ts";
import type { Form } from "../../src/kernel/errors.ts";
import { McpServer } from "../servers/mcp.ts";
import { ask, type Cause, changed, missing } from "./causes.ts";
import {
  customerPath,
  merchantBody,
  newBinding,
  newCustomer,
  newDelivery,
  newEvent,
  newMerchant,
  organization,
} from "./outside.ts";
import { fillClientOrigins, freshName, type Scene } from "./scene.ts";
import { type Call, send } from "./world.ts";

const closed = "http://127.0.0.1:9/v1";

/** Rows up to a cap, made by copying one. */
async function fill(s: Scene, table: string, id: string, prefix: string, count: number): Promise<void> {
  await s.sql`
    insert into ${s.sql(table)} select (jsonb_populate_record(row, jsonb_build_object(
      'id', ${prefix}::text || '_' || substr(md5(random()::text), 1, 24), 'name', 'filler ' || number))).*
    from ${s.sql(table)} row, generate_series(1, ${count}) as number where row.id = ${id}`;
}

const keysAndProviders: readonly Cause[] = [
  changed(["POST /v1/apikeys"], "400 invalid_request", () => ({ body: { expiresAt: "2020-01-01T00:00:00Z" } })),
  changed(["POST /v1/apikeys"], "404 not_found", () => ({ body: { agentIds: [missing("ag")] } })),
  changed(["POST /v1/client-tokens"], "404 not_found", () => ({ body: { agentId: missing("ag") } })),
  {
    ops: ["POST /v1/client-tokens"],
    row: "400 invalid_request",
    alone: true,
    async meet(s, form, op) {
      const agentId = await s.theAgent();
      await fillClientOrigins(s, agentId, 10_000);
      return send(s.t, op, form, { body: { agentId, userId: "anna", origins: ["https://last.example.com"] } });
    },
  },
  {
    ops: ["POST /v1/providers"],
    row: "400 provider_limit_reached | 400 invalid_request",
    alone: true,
    async meet(s, form, op) {
      await fill(s, "providers", await s.theProvider(), "prv", 19);
      return send(s.t, op, form, { body: { name: "one more", providerType: "openai", apiKey: "sk-0123456789" } });
    },
  },
  changed(["POST /v1/providers", "PATCH /v1/providers/:id"], "409 provider_name_conflict", async (_, s) => {
    const id = await s.once("named", () => s.newProvider({ name: "taken" }));
    return { body: { name: id === "" ? "" : "taken" } };
  }),
  changed(["DELETE /v1/providers/:id"], "409 provider_in_use", async (_, s) => {
    await s.theAgent();
    return { params: { id: await s.theProvider() } };
  }),
  changed(["DELETE /v1/providers/:id"], "409 provider_historical_use", async (_, s) => {
    const id = await s.newProvider();
    const agentId = await s.newAgent({ providerId: id });
    await s.t.call("PUT", `/v1/agents/${agentId}`, { form: "b", body: { providerId: null, model: null } });
    return { params: { id } };
  }),
  changed(["GET /v1/providers/:id/models"], "422 model_discovery_unsupported", async (_, s) => ({
    params: { id: await s.theProvider() },
  })),
  changed(["GET /v1/providers/:id/models"], "503 model_validation_unavailable", async (_, s) => ({
    params: { id: await s.newProvider({ providerType: "openai", baseUrl: closed }) },
  })),
  {
    ops: ["POST /v1/prompts", "PATCH /v1/prompts/:promptId"],
    row: "400 invalid_request",
    async meet(s, form, op) {
      const { body } = await s.t.call("GET", `/v1/prompts/${await s.thePrompt()}`);
      const other = { promptId: await s.newPrompt() };
      return ask(s, op, form, { params: other, body: { name: body.name } });
    },
  },
];

const mcp = ["POST /v1/mcp-connections", "POST /v1/mcp-connections/:id/reconnect"];
const mcpConnections: readonly Cause[] = [
  changed(mcp, "400 mcp_connection_invalid | 400 invalid_request", () => ({ body: { url: "ftp://files.test/" } })),
  {
    ops: mcp,
    row: "400 mcp_connection_authentication_failed | 400 invalid_request",
    async meet(s, form, op) {
      const server = new McpServer();
      server.settings.accepts = (token) => token === "right";
      const response = await ask(s, op, form, { body: { url: server.url, authType: "bearer", bearerToken: "wrong" } });
      await server.stop();
      return response;
    },
  },
  changed(mcp, "400 mcp_connection_unreachable | 400 invalid_request", () => ({ body: { url: closed } })),
  changed(mcp, "400 mcp_connection_discovery_failed | 400 invalid_request", (_, s) => ({
    body: { url: `${s.w.mcp.origin}/nothing` },
  })),
  {
    ops: ["POST /v1/mcp-connections"],
    row: "400 mcp_connection_limit_reached | 400 invalid_request",
    alone: true,
    async meet(s, form, op) {
      await fill(s, "mcp_connections", await s.theMcp(), "mcp", 49);
      return ask(s, op, form);
    },
  },
  changed(
    ["POST /v1/mcp-connections", "PATCH /v1/mcp-connections/:id"],
    "409 mcp_connection_name_conflict | 409 invalid_request",
    async (_, s) => {
      await s.once("named mcp", () => s.newMcp({ name: "taken" }));
      return { body: { name: "taken" } };
    },
  ),
  changed(["DELETE /v1/mcp-connections/:id"], "409 mcp_connection_in_use | 409 invalid_request", async (_, s) => ({
    params: { id: (await s.theAttached()).mcpConnectionId },
  })),
  changed(["POST /v1/mcp-connections/:id/connect"], "403 invalid_request", (_, s) => ({ token: s.t.token })),
  changed(["POST /v1/mcp-connections/:id/connect"], "400 mcp_connection_invalid | 500 internal", async (_, s) => ({
    params: { id: await s.theMcp() },
  })),
  {
    ops: ["POST /v1/mcp-connections/:id/reconnect"],
    row: "409 mcp_connection_stale_credential_version",
    meet: overtaken,
  },
];

/** A reconnect whose server responds only after another one has been through. */
async function overtaken(s: Scene, form: Form, op: string) {
  const id = await s.newMcp();
  const slow = new McpServer();
  const [arrived, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  slow.settings.intercept = async () => {
    arrived.resolve();
    await held.promise;
    return null as never;
  };
  const reconnect = (url: string) => send(s.t, op, form, { params: { id }, body: { url, authType: "none" } });
  const late = reconnect(slow.url);
  await arrived.promise;
  await reconnect(s.w.mcp.url);
  held.resolve();
  const response = await late;
  await slow.stop();
  return response;
}

const files = "/v1/workspaces/:workspaceId/files";
const inUse = "409 workspace_in_use | 409 SANDBOX_IN_USE";
/** A workspace that is being deleted, and never gone. */
const leaving = (s: Scene) =>
  s.once("leaving", async () => {
    const id = await s.newWorkspace();
    await s.sql`update workspaces set status = 'deleting' where id = ${id}`;
    return id;
  });
const inEitherForm = (id: string, form: Form): Call => ({
  params: { workspaceId: id, sandboxId: `sb_${id.slice(3)}` },
  ...(form === "a" ? {} : {}),
});
const workspaces: readonly Cause[] = [
  {
    ops: ["DELETE /v1/sandboxes/:sandboxId", "DELETE /v1/workspaces/:workspaceId"],
    row: inUse,
    async meet(s, form, op) {
      const workspaceId = await s.newWorkspace();
      await s.newAgent({ workspaceId });
      return ask(s, op, form, inEitherForm(workspaceId, form));
    },
  },
  {
    ops: [
      "PUT /v1/sandboxes/:sandboxId",
      "PATCH /v1/workspaces/:workspaceId",
      `GET ${files}`,
      `PUT ${files}`,
      `DELETE ${files}`,
      "POST /v1/workspaces/:workspaceId/commands",
      "POST /v1/sandboxes/:sandboxId/commands",
    ],
    row: "409 workspace_delete_conflict | 409 SANDBOX_DELETE_CONFLICT",
    meet: async (s, form, op) => ask(s, op, form, inEitherForm(await leaving(s), form)),
  },
  changed([`GET ${files}`], "404 not_found", () => ({ query: { path: "none.txt" } })),
  changed([`PUT ${files}`], "413 payload_too_large", () => ({ body: new Uint8Array(10 * 1024 * 1024 + 1) })),
  changed([`PUT ${files}`], "400 invalid_request", async (_, s) => {
    const workspaceId = await s.newWorkspace();
    await s.sql`
      insert into workspace_files (workspace_id, path, content, size)
      select ${workspaceId}, 'f' || number, 'x'::bytea, 1 from generate_series(1, 10000) as number`;
    return { params: { workspaceId } };
  }),
];

const makeTask = "POST /v1/tasks";
const start = "POST /v1/tasks/:taskId/runs";
const version = "404 agent_version_not_found | 404 AGENT_VERSION_NOT_FOUND";
const tasks: readonly Cause[] = [
  {
    ops: [makeTask, "POST /v1/workspaces", "POST /v1/sandboxes"],
    row: "400 invalid_request",
    alone: true,
    async meet(s, form, op) {
      const isTask = op === makeTask;
      const id = isTask ? await s.newTask() : await s.newWorkspace();
      await fill(s, isTask ? "tasks" : "workspaces", id, isTask ? "tk" : "ws", 1_000);
      return ask(s, op, form);
    },
  },
  changed([makeTask], "404 not_found", () => ({ body: { agentId: missing("ag") } })),
  changed([makeTask], "409 admin_agent_managed | 409 ADMIN_AGENT_MANAGED", async (_, s) => ({
    body: { agentId: await s.once("managed", () => createManagedAgent(s.sql, s.t.id)) },
  })),
  changed([makeTask, "PATCH /v1/tasks/:taskId"], version, () => ({ body: { agentVersion: 99 } })),
  {
    ops: [start],
    row: version,
    async meet(s, form, op) {
      const taskId = await s.newTask();
      await s.sql`update tasks set agent_version = 99 where id = ${taskId}`;
      return ask(s, op, form, { params: { taskId } });
    },
  },
  {
    ops: [makeTask, start],
    row: "409 agent_disabled | 409 AGENT_DISABLED",
    async meet(s, form, op) {
      const agentId = await s.newAgent();
      const taskId = await s.newTask({ agentId });
      await s.parley.agents.disable(agentId);
      return op === start
        ? ask(s, op, form, { params: { taskId } })
        : ask(s, op, form, { body: { agentId, submit: true } });
    },
  },
  {
    ops: [makeTask, start],
    row: "409 tenant_deleting",
    alone: true,
    async meet(s, form, op) {
      const taskId = await s.newTask();
      await s.setTenant({ deleting_at: new Date() });
      const fields = op === start ? { params: { taskId }, body: {} } : await callOfTask(s);
      return send(s.t, op, form, fields);
    },
  },
  {
    ops: ["DELETE /v1/tasks/:taskId", start],
    row: "409 task_active_run_exists",
    async meet(s, form, op) {
      const { taskId, runId } = await s.newActiveRun();
      const response = await ask(s, op, form, { params: { taskId } });
      await s.parley.taskRuns.cancel(taskId, runId);
      return response;
    },
  },
];
const callOfTask = async (s: Scene): Promise<Call> => ({
  body: { agentId: await s.theAgent(), name: "n", prompt: "p", submit: true },
});

const repair = "POST /v1/chat-connections/:id/deliveries/:deliveryId/repair";
const chat: readonly Cause[] = [
  changed(["POST /v1/chat-connections"], "400 invalid_request", () => ({
    body: { credentials: { botToken: "xoxb-unknown", signingSecret: "s" } },
  })),
  changed(["POST /v1/chat-connections"], "404 not_found", () => ({ body: { agentId: missing("ag") } })),
  {
    ops: ["PATCH /v1/chat-connections/:id"],
    row: "400 invalid_request",
    async meet(s, form, op) {
      const bot = s.w.telegram.make();
      const body = {
        name: freshName(),
        agentId: await s.theAgent(),
        platform: "chat_b" as const,
        credentials: { botToken: bot.token },
      };
      const { id } = await s.parley.chatConnections.create(body);
      s.w.telegram.bots.delete(bot.token);
      return send(s.t, op, form, { params: { id }, body: { configuration: { businessMode: true } } });
    },
  },
  changed([repair], "400 invalid_request", async (_, s) => ({ params: await newDelivery(s, { status: "confirmed" }) })),
];

const connection = "/v1/merchant-connection";
const connectionNone = "404 merchant_connection_not_found";
const binding = customerPath(":userId");
const events = "/v1/merchant-usage-events/:id";
/** The billing provider's connection is cut, wherever it is asked for this scene's token. */
async function cut(s: Scene, path: string): Promise<void> {
  s.w.polar.injectFault(path, "cut before", (await organization(s)).token);
}
const merchant: readonly Cause[] = [
  {
    ops: [
      `PATCH ${connection}`,
      `DELETE ${connection}`,
      `GET ${connection}/bindings`,
      `PUT ${binding}`,
      `DELETE ${binding}`,
    ],
    row: connectionNone,
    alone: true,
    async meet(s, form, op) {
      const body = op.startsWith("PUT")
        ? { customerId: "c" }
        : op.startsWith("PATCH")
          ? { status: "active" }
          : undefined;
      return send(s.t, op, form, { params: { userId: "anna" }, ...(body === undefined ? {} : { body }) });
    },
  },
  changed([`POST ${connection}`, `PATCH ${connection}`], "422 merchant_credential_invalid", () => ({
    body: { credential: "polar_oat_nobody" },
  })),
  changed([`PATCH ${connection}`], "409 merchant_account_mismatch", (_, s) => {
    const credential = `polar_oat_other_${s.t.id}`;
    s.w.polar.tokens.set(credential, [crypto.randomUUID()]);
    return { body: { credential } };
  }),
  {
    ops: [`POST ${connection}`, `PATCH ${connection}`],
    row: "503 merchant_provider_unavailable",
    alone: true,
    async meet(s, form, op) {
      if (op.startsWith("PATCH")) await newMerchant(s);
      await cut(s, "/v1/organizations/");
      return send(s.t, op, form, {
        body: op.startsWith("PATCH") ? { credential: (await organization(s)).token } : await merchantBody(s),
      });
    },
  },
  changed([`PUT ${binding}`], "422 merchant_customer_not_found", () => ({
    body: { customerId: "00000000-0000-4000-8000-000000000000" },
  })),
  {
    ops: [`PUT ${binding}`],
    row: "503 merchant_provider_unavailable",
    alone: true,
    async meet(s, form, op) {
      await newMerchant(s);
      const customerId = await newCustomer(s);
      await cut(s, `/v1/customers/${customerId}`);
      return send(s.t, op, form, { params: { userId: "anna" }, body: { customerId } });
    },
  },
  {
    ops: [`DELETE ${binding}`],
    row: "404 merchant_binding_not_found",
    async meet(s, form, op) {
      await newBinding(s);
      return send(s.t, op, form, { params: { userId: "nobody" } });
    },
  },
  changed(
    [`POST ${events}/retry`, `POST ${events}/release`, `POST ${events}/discard`],
    "409 merchant_event_state",
    async (_, s) => ({
      params: { id: await newEvent(s, { status: "accepted" }) },
    }),
  ),
];

/** Errors of all that is neither a turn nor an agent. */
export const restCauses: readonly Cause[] = [
  ...keysAndProviders,
  ...mcpConnections,
  ...workspaces,
  ...tasks,
  ...chat,
  ...merchant,
];
