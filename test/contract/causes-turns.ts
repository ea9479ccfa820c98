import type { AgentCreate, TurnCreate } from "parley/client";
import type { Form } from "../../src/kernel/errors.ts";
import { makeClientToken } from "../harness/client-tokens.ts";
import { type ApiResponse, eventually } from "../harness/harness.ts";
import { userMessage } from "../harness/seed.ts";
import { responseOf } from "./calls-responses.ts";
import { type Cause, missing } from "./causes.ts";
import { clientRefused } from "./contract.ts";
import { newBinding, newMerchant } from "./outside.ts";
import type { Scene } from "./scene.ts";
import { send } from "./world.ts";

const create = "POST /v1/agents/:agentId/sessions";
const resume = "POST /v1/agents/:agentId/sessions/:sessionId";
const generate = "POST /v1/agents/:agentId/generate";
const respond = "POST /v1/responses";
const retry = "POST /v1/turns/:turnId/retry";
const doors = [create, resume, generate, respond, retry];

interface Door {
  readonly agentId: string;
  readonly sessionId: string;
}

/** A turn through one of the doors. */
async function turn(s: Scene, form: Form, op: string, at: Door, fields: TurnFields = {}, text = "hi") {
  const { agentId, sessionId } = at;
  if (op === respond) {
    const { userId, version } = fields;
    const pinned = version === undefined ? {} : { previous_response_id: await responseOf(s, at) };
    const body = { model: agentId, input: text, ...(userId === undefined ? {} : { user: userId }), ...pinned };
    return send(s.t, op, form, { body });
  }
  if (op === retry) {
    const turnId = await s.failedTurnOf(at, userMessage(text));
    return send(s.t, op, form, { params: { turnId }, body: { stream: false } });
  }
  const said = op === generate ? { messages: [userMessage(text)] } : { message: userMessage(text) };
  return send(s.t, op, form, { params: { agentId, sessionId }, body: { ...said, stream: false, ...fields } });
}

interface TurnFields {
  readonly userId?: string;
  readonly version?: number;
}

/** An agent of its own with a session, whose turns may then be made to fail. */
async function door(s: Scene, fields: TurnCreate = {}, agent: Partial<AgentCreate> = {}): Promise<Door> {
  return s.newSession(fields, await s.newAgent(agent));
}

const put = (s: Scene, agentId: string, body: object, form: Form = "b") =>
  s.t.call("PUT", `/v1/agents/${agentId}`, { form, body });

/** A cause that the tenant or the agent has, whatever the door. */
function atDoors(row: string, prepare: (s: Scene, at: Door) => Promise<unknown>, fields: TurnFields = {}): Cause {
  return {
    ops: doors,
    row,
    alone: true,
    async meet(s, form, op) {
      const at = await door(s);
      await prepare(s, at);
      return turn(s, form, op, at, fields);
    },
  };
}

/** A turn of a guarded end user. */
function guarded(row: string, guard: object, isBound: boolean, after?: (s: Scene) => Promise<unknown>): Cause {
  return {
    ops: doors,
    row,
    alone: true,
    async meet(s, form, op) {
      await newMerchant(s);
      const userId = isBound ? await newBinding(s) : "nobody";
      const at = await door(s, { userId });
      await s.t.call("PATCH", "/v1/merchant-connection", { body: { guard: { enabled: true, ...guard } } });
      await after?.(s);
      return turn(s, form, op, at, { userId });
    },
  };
}

/** A turn pinned to version 1, after the agent moved on to one that lacks what version 1 needs. */
function pinned(
  row: string,
  firstVersion: (s: Scene) => Promise<Door>,
  move: (s: Scene, at: Door) => Promise<unknown>,
): Cause {
  return {
    ops: doors,
    row,
    alone: true,
    async meet(s, form, op) {
      const at = await firstVersion(s);
      await move(s, at);
      return turn(s, form, op, at, op === resume || op === retry ? {} : { version: 1 });
    },
  };
}

async function deleteFirstProvider(s: Scene, { agentId }: Door): Promise<void> {
  const { body } = await s.t.call("GET", `/v1/agents/${agentId}`);
  await put(s, agentId, { providerId: await s.theProvider(), model: "simulated/model" });
  await s.t.call("DELETE", `/v1/providers/${body.providerId}?confirmVersionInvalidation=true`);
}

/** Form A's agent with a sandbox; its next version has neither the sandbox nor the tools. */
async function withSandbox(s: Scene): Promise<Door> {
  const sandboxId = await s.newSandbox();
  const body = { name: `sandboxed ${sandboxId}`, tools: ["file_operation_sandbox"], sandboxId };
  const more = { model: "simulated/model", providerId: await s.theProvider() };
  const agent = await s.t.call("POST", "/v1/agents", { form: "a", body: { ...body, ...more } });
  const agentId: string = agent.body.id;
  return s.newSession({ version: 1 }, agentId);
}

async function canceled(s: Scene, form: Form, op: string): Promise<ApiResponse> {
  const at = await door(s);
  const response = turn(s, form, op, at, {}, '[[sim: text="one two" hangAfterChunks=1]]');
  const sessionId = await eventually(async () => {
    const [row] = await s.sql`select session_id from turns where agent_id = ${at.agentId} and status = 'running'`;
    return row?.sessionId as string | undefined;
  });
  await s.cancel({ agentId: at.agentId, sessionId });
  return response;
}

const busyAt = async (s: Scene) => s.theWaiting();
const busy = "409 session_busy | 409 SESSION_BUSY";
const prompted = (row: string, variables: object): Cause => ({
  ops: [create, resume],
  row,
  async meet(s, form, op) {
    const body = { promptId: await s.thePrompt(), variables, stream: false };
    return send(s.t, op, form, { params: { ...(await s.theSession()) }, body });
  },
});

/** Errors of turns, sessions, approvals and continuations. */
export const turnCauses: readonly Cause[] = [
  atDoors("400 provider_required | 502 provider_error", (s, { agentId }) =>
    put(s, agentId, { model: null, providerId: null }),
  ),
  atDoors("402 usage_credit_required", (s) => s.setTenant({ usage_credit: 0 })),
  atDoors("409 agent_disabled | 409 AGENT_DISABLED", (s, { agentId }) => s.parley.agents.disable(agentId)),
  {
    ops: [create, resume, generate, retry],
    row: "409 turn_limit_reached",
    async meet(s, form, op) {
      const at = await door(s, {}, { tools: ["write_todos"], turnLimits: { maxModelCalls: 1 } });
      return turn(s, form, op, at, {}, '[[sim: tool=write_todos args={"todos":[]}; text=Never]]');
    },
  },
  atDoors("409 tenant_deleting", (s) => s.setTenant({ deleting_at: new Date() })),
  atDoors("429 budget_exceeded", (s) => s.parley.budgets.create({ name: "None", period: "day", limit: { turns: 0 } })),
  atDoors("429 quota_exceeded", (s) => s.setTenant({ quota_turns_per_day: 0 })),
  atDoors("429 too_many_turns", (s) => s.setTenant({ queued_turns: 0 })),
  guarded("402 merchant_subscription_required", { productIds: ["plan"] }, true),
  guarded("402 merchant_balance_required", { meterId: "meter" }, true),
  guarded("403 merchant_customer_unmapped", { productIds: ["plan"] }, false),
  guarded("503 merchant_eligibility_unavailable", { productIds: ["plan"] }, true, (s) =>
    s.parley.merchantConnection.update({ status: "disconnected" }),
  ),
  pinned(
    "404 provider_not_found | 404 not_found",
    async (s) => door(s, { version: 1 }, { providerId: await s.newProvider() }),
    deleteFirstProvider,
  ),
  pinned("404 workspace_not_found | 409 SANDBOX_REQUIRED", withSandbox, (s, { agentId }) =>
    put(s, agentId, { tools: [], sandboxId: null }, "a"),
  ),
  {
    ops: [create, resume, generate, retry],
    row: "502 provider_error",
    meet: async (s, form, op) => turn(s, form, op, await s.newSession(), {}, "[[sim: fail=401]]"),
  },
  { ops: [create, resume, retry], row: "409 turn_canceled", meet: canceled },
  {
    ops: [respond],
    row: "404 not_found",
    meet: async (s, form, op) => send(s.t, op, form, { body: { model: missing("ag"), input: "hi" } }),
  },
  {
    ops: [respond],
    row: busy,
    async meet(s, form, op) {
      const at = await busyAt(s);
      const body = { model: at.agentId, input: "hi", previous_response_id: await responseOf(s, at) };
      return send(s.t, op, form, { body });
    },
  },
  {
    ops: [respond],
    row: "409 tool_call_settled",
    async meet(s, form, op) {
      const at = await s.newCalling();
      const input = [{ type: "function_call_output", call_id: at.toolCallId, output: "1" }];
      const call = { body: { model: at.agentId, input, previous_response_id: await responseOf(s, at) } };
      await send(s.t, op, form, call);
      return send(s.t, op, form, call);
    },
  },
  {
    ops: [respond],
    row: "404 agent_version_not_found | 404 AGENT_VERSION_NOT_FOUND",
    async meet(s, form, op) {
      const at = await door(s, { version: 1 });
      await s.sql`delete from agent_versions where agent_id = ${at.agentId} and version = 1`;
      return turn(s, form, op, at, { version: 1 });
    },
  },
  {
    ops: ["POST /v1/responses/:responseId/cancel"],
    row: "409 session_idle",
    meet: async (s, form, op) =>
      send(s.t, op, form, { params: { responseId: await responseOf(s, await s.newSession()) } }),
  },
  {
    ops: ["DELETE /v1/responses/:responseId"],
    row: busy,
    meet: async (s, form, op) =>
      send(s.t, op, form, { params: { responseId: await responseOf(s, await s.newRunning()) } }),
  },
  prompted("400 prompt_variable_missing | 400 invalid_request", {}),
  prompted("400 prompt_variable_unknown | 400 invalid_request", { name: "Anna", other: "x" }),
  {
    ops: [create, generate],
    row: "404 agent_version_not_found | 404 AGENT_VERSION_NOT_FOUND",
    meet: async (s, form, op) => turn(s, form, op, await s.theSession(), { version: 99 }),
  },
  { ops: [retry], row: busy, meet: async (s, form, op) => turn(s, form, op, await s.newRunning()) },
  {
    ops: [retry],
    row: "409 turn_not_failed",
    meet: async (s, form, op) =>
      send(s.t, op, form, { params: { turnId: await s.turnOf(await s.newSession()) }, body: {} }),
  },
  {
    ops: [retry],
    row: "404 message_not_found | 404 not_found",
    async meet(s, form, op) {
      const turnId = await s.failedTurnOf(await s.newSession());
      await s.sql`update turns set trigger = 'regenerate-message', input = null, keep_seq = 0 where id = ${turnId}`;
      return send(s.t, op, form, { params: { turnId }, body: {} });
    },
  },
  { ops: [resume], row: busy, meet: async (s, form, op) => turn(s, form, op, await busyAt(s)) },
  {
    ops: [resume],
    row: "404 message_not_found | 404 not_found",
    meet: async (s, form, op) =>
      send(s.t, op, form, {
        params: { ...(await s.theSession()) },
        body: { trigger: "regenerate-message", messageId: missing("msg"), stream: false },
      }),
  },
  {
    ops: [create, "POST /v1/agents/:agentId/sessions/:sessionId/fork"],
    row: clientRefused,
    async meet(s, form, op) {
      const at = await s.newSession({ userId: "anna" });
      const { token } = await makeClientToken(s.t, at);
      return send(s.t, op, form, { token, params: { ...at }, body: {} });
    },
  },
  {
    ops: [
      "POST /v1/agents/:agentId/sessions/:sessionId/tool-calls/:toolCallId",
      "POST /v1/agents/:agentId/sessions/:sessionId/tool-approvals/:approvalId",
    ],
    row: clientRefused,
    async meet(s, form, op) {
      const { agentId, sessionId, approvalId } = await s.theWaiting();
      const { token } = await makeClientToken(s.t, { agentId, can: [] });
      const isCall = op.endsWith("toolCallId");
      const own = isCall ? { toolCallId: "call" } : { approvalId };
      return send(s.t, op, form, {
        token,
        params: { agentId, sessionId, ...own },
        body: isCall ? { output: 1 } : { approved: true },
      });
    },
  },
  {
    ops: [resume],
    row: clientRefused,
    async meet(s, form, op) {
      const { message, ...at } = await s.newHalfSettled("anna");
      const { token } = await makeClientToken(s.t, { agentId: at.agentId, can: ["approvals"] });
      return send(s.t, op, form, { token, params: at, body: { message, stream: false } });
    },
  },
  {
    ops: ["POST /v1/agents/:agentId/sessions/:sessionId/fork"],
    row: "404 message_not_found",
    meet: async (s, form, op) =>
      send(s.t, op, form, { params: { ...(await s.theSession()) }, body: { throughMessageId: missing("msg") } }),
  },
  {
    ops: ["DELETE /v1/agents/:agentId/sessions/:sessionId"],
    row: busy,
    meet: async (s, form, op) =>
      send(s.t, op, form, {
        params: { ...(await busyAt(s)) },
        ...(form === "b" ? { query: { deleteArtifacts: "true" } } : {}),
      }),
  },
  {
    ops: ["GET /v1/agents/:agentId/sessions/:sessionId/tool-approval-continuations/:continuationId"],
    row: busy,
    meet: async (s, form, op) => send(s.t, op, form, { params: { ...(await busyAt(s)) } }),
  },
  {
    ops: ["POST /v1/agents/:agentId/sessions/:sessionId/cancel"],
    row: "409 session_idle",
    meet: async (s, form, op) => send(s.t, op, form, { params: { ...(await s.newSession()) } }),
  },
  {
    ops: ["POST /v1/agents/:agentId/sessions/:sessionId/tool-calls/:toolCallId"],
    row: "409 tool_call_settled",
    async meet(s, form, op) {
      const call = { params: { ...(await s.newCalling()) }, body: { output: 1 } };
      await send(s.t, op, form, call);
      return send(s.t, op, form, call);
    },
  },
  {
    ops: ["POST /v1/agents/:agentId/sessions/:sessionId/tool-approvals/:approvalId"],
    row: "409 approval_decided | 409 invalid_request",
    async meet(s, form, op) {
      const call = { params: { ...(await s.newWaiting()) }, body: { approved: false } };
      await send(s.t, op, form, call);
      return send(s.t, op, form, call);
    },
  },
];
