import type { Form } from "../../src/kernel/errors.ts";
import { type ApiResponse, eventually } from "../harness/harness.ts";
import { callOf } from "./calls.ts";
import { type Scene, sessionOf } from "./scene.ts";
import { type Call, send } from "./world.ts";

/** How a resource that is written in one form is read in the other. */
export interface FormRoundtrip {
  readonly what: string;
  /** The operation that writes it; where the forms have one each, both. */
  readonly write: string | Readonly<Record<Form, string>>;
  readonly read: string | Readonly<Record<Form, string>>;
  /** Waits for what the writing set going, so that both forms read the same. */
  readonly prepared?: (s: Scene, written: ApiResponse) => Promise<unknown>;
  /** The call that reads what was written. */
  at(written: ApiResponse, call: Call): Call;
  /** The resource in the responses, where it is not the whole of them. */
  readonly inWritten?: (body: never) => unknown;
  readonly inRead?: (body: never, written: never) => unknown;
}

const byId =
  (name: string) =>
  ({ body }: ApiResponse, call: Call): Call => ({ params: { ...call.params, [name]: body.id } });
const sameOf =
  (list: string) =>
  (body: Record<string, { id: string }[]>, written: { id: string }): unknown =>
    body[list]?.find(({ id }) => id === written.id);

/** Every resource of the interface. */
export const formRoundtrips: readonly FormRoundtrip[] = [
  { what: "agent", write: "POST /v1/agents", read: "GET /v1/agents/:agentId", at: byId("agentId") },
  {
    what: "agent, changed",
    write: "PUT /v1/agents/:agentId",
    read: "GET /v1/agents/:agentId",
    at: byId("agentId"),
  },
  {
    what: "MCP attachment",
    write: "PATCH /v1/agents/:agentId/mcp-attachments/:mcpConnectionId",
    read: "GET /v1/agents/:agentId/mcp-attachments",
    at: (_, { params = {} }) => ({ params }),
    inRead: ({ mcpAttachments }: { mcpAttachments: unknown[] }) => mcpAttachments[0],
  },
  {
    what: "session",
    write: "POST /v1/agents/:agentId/sessions",
    read: "GET /v1/agents/:agentId/sessions/:sessionId/messages",
    at: (written, call) => ({ params: { ...call.params, sessionId: sessionOf(written) } }),
    inWritten: ({ message }: { message: unknown }) => message,
    inRead: ({ data }: { data: unknown[] }) => data[1],
  },
  {
    what: "tool approval",
    write: "POST /v1/agents/:agentId/sessions/:sessionId/tool-approvals/:approvalId",
    read: "GET /v1/agents/:agentId/sessions/:sessionId/tool-approvals",
    at: (_, { params = {} }) => ({ params }),
    inWritten: ({ approval }: { approval: unknown }) => approval,
    inRead: ({ approvals }: { approvals: unknown[] }) => approvals[0],
  },
  { what: "prompt", write: "POST /v1/prompts", read: "GET /v1/prompts/:promptId", at: byId("promptId") },
  {
    what: "memory",
    write: "POST /v1/agents/:agentId/memories",
    read: "GET /v1/agents/:agentId/memories/:memoryId",
    at: byId("memoryId"),
  },
  {
    what: "skill",
    write: "POST /v1/agents/:agentId/skills",
    read: "GET /v1/agents/:agentId/skills/:skillId",
    at: byId("skillId"),
  },
  { what: "library skill", write: "POST /v1/skills", read: "GET /v1/skills/:skillId", at: byId("skillId") },
  {
    what: "API key",
    write: "POST /v1/apikeys",
    read: "GET /v1/apikeys",
    at: () => ({}),
    inWritten: ({ apiKey }: { apiKey: unknown }) => apiKey,
    inRead: sameOf("apiKeys"),
  },
  { what: "member", write: "POST /v1/members", read: "GET /v1/members/:memberId", at: byId("memberId") },
  { what: "provider", write: "POST /v1/providers", read: "GET /v1/providers/:id", at: byId("id") },
  { what: "MCP connection", write: "POST /v1/mcp-connections", read: "GET /v1/mcp-connections/:id", at: byId("id") },
  {
    what: "workspace and sandbox",
    write: { a: "POST /v1/sandboxes", b: "POST /v1/workspaces" },
    read: { a: "GET /v1/sandboxes/:sandboxId", b: "GET /v1/workspaces/:workspaceId" },
    at({ body }) {
      const same = body.id.split("_")[1];
      return { params: { sandboxId: `sb_${same}`, workspaceId: `ws_${same}` } };
    },
  },
  {
    what: "task",
    write: "POST /v1/tasks",
    read: "GET /v1/tasks/:taskId",
    at: ({ body }) => ({ params: { taskId: body.task.id } }),
    inWritten: ({ task }: { task: unknown }) => task,
  },
  {
    what: "chat connection",
    write: "POST /v1/chat-connections",
    read: "GET /v1/chat-connections/:id",
    at: byId("id"),
  },
  {
    what: "chat delivery",
    write: "POST /v1/chat-connections/:id/deliveries/:deliveryId/repair",
    read: "GET /v1/chat-connections/:id/deliveries",
    prepared: (s, { body }) =>
      eventually(async () => {
        const [row] = await s.sql`select 1 from chat_deliveries where id = ${body.id} and status = 'confirmed'`;
        return row !== undefined;
      }),
    at: (_, { params = {} }) => ({ params }),
    inWritten: ({ status: _status, ...rest }: Record<string, unknown>) => rest,
    inRead: sameOf("data"),
  },
  {
    what: "merchant connection",
    write: "POST /v1/merchant-connection",
    read: "GET /v1/merchant-connection",
    at: () => ({}),
    inWritten: ({ connection }: { connection: unknown }) => connection,
    inRead: ({ connection }: { connection: unknown }) => connection,
  },
  {
    what: "binding",
    write: "PUT /v1/merchant-connection/bindings/:userId",
    read: "GET /v1/merchant-connection/bindings",
    at: (_, { params }) => ({ query: { userId: params?.userId ?? "" } }),
    inWritten: ({ binding }: { binding: unknown }) => binding,
    inRead: ({ bindings }: { bindings: unknown[] }) => bindings[0],
  },
  {
    what: "budget",
    write: "POST /v1/budgets",
    read: "GET /v1/budgets/:budgetId",
    at: byId("budgetId"),
  },
  {
    what: "webhook",
    write: "POST /v1/webhooks",
    read: "GET /v1/webhooks/:id",
    at: byId("id"),
    inWritten: ({ secret: _secret, ...rest }: Record<string, unknown>) => rest,
  },
  {
    what: "webhook delivery",
    write: "POST /v1/webhooks/:id/test",
    read: "GET /v1/webhooks/:id/deliveries",
    at: (_, { params = {} }) => ({ params }),
    inRead: sameOf("data"),
  },
  {
    what: "usage event",
    write: "POST /v1/merchant-usage-events/:id/discard",
    read: "GET /v1/merchant-usage-events",
    at: () => ({ query: { limit: "200" } }),
    inRead: sameOf("events"),
  },
];

const inForm = (op: FormRoundtrip["write"], form: Form) => (typeof op === "string" ? op : op[form]);

/** Writes a resource in one form, and reads it in both. */
export async function playRoundtrip(s: Scene, roundtrip: FormRoundtrip, form: Form) {
  const write = inForm(roundtrip.write, form);
  const call = await callOf(s, write, form);
  const written = await send(s.t, write, form, call);
  await roundtrip.prepared?.(s, written);
  const resource = (roundtrip.inWritten ?? ((body: unknown) => body))(written.body as never) as Record<string, unknown>;
  const read = async (asked: Form) => {
    const response = await send(s.t, inForm(roundtrip.read, asked), asked, roundtrip.at(written, call));
    const read = (roundtrip.inRead ?? ((body: unknown) => body))(response.body as never, resource as never);
    return { status: response.status, resource: read as Record<string, unknown> };
  };
  return { written: { status: written.status, resource }, a: await read("a"), b: await read("b") };
}
