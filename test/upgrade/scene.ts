import { expect } from "bun:test";
import { eventually } from "../harness/eventually.ts";

/** Asks a process of either release as the scene's tenant. */
export type Ask = (
  method: string,
  path: string,
  body?: unknown,
  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses freely.
) => Promise<{ readonly status: number; readonly body: any }>;

/** What a tenant of release 0.2.0 has, by ids. */
export interface Scene {
  readonly agentId: string;
  readonly answered: string;
  /** A session whose turn waits for a decision. */
  readonly asking: string;
  readonly taskId: string;
  readonly workspaceId: string;
}

/** Returns a function that asks the process at an address with a key. */
export function asker(url: string, token: string): Ask {
  return async (method, path, body) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "api-form": "b", "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? null : JSON.parse(text) };
  };
}

const said = (text: string) => ({ id: `m-${crypto.randomUUID()}`, role: "user", parts: [{ type: "text", text }] });

/** Makes one of nearly everything that a tenant can have, by the interface of 0.2.0. */
export async function makeScene(ask: Ask, modelUrl: string): Promise<Scene> {
  const made = async (path: string, body: unknown, method = "POST") => {
    const { status, body: given } = await ask(method, path, body);
    expect([path, status < 300, status < 300 || given]).toEqual([path, true, true]);
    return given;
  };
  const server = { providerType: "custom", baseUrl: modelUrl, apiKey: "sk-test-0123456789" };
  const provider = await made("/v1/providers", { name: "simulated", ...server });
  const base = { model: "simulated/model", providerId: provider.id };
  const agent = await made("/v1/agents", { name: "first", instructions: "Be kind.", ...base });
  const tools = ["memory"];
  const approvalInChat = {
    default: "full",
    overrides: [{ tool: "memory_save", mcpConnectionId: null, mode: "manual" }],
  };
  await made(`/v1/agents/${agent.id}`, { name: "first", ...base, tools, approvalInChat }, "PUT");
  const sessions = `/v1/agents/${agent.id}/sessions`;
  const turn = (text: string, more: object = {}, path = sessions) =>
    ask("POST", path, { message: said(text), stream: false, ...more });
  const sessionOf = async (userId: string) => (await ask("GET", `${sessions}?userId=${userId}`)).body.data[0].id;
  await turn('[[sim: text="one"]]', { userId: "answered", metadata: { plan: "gold" } });
  const answered = await sessionOf("answered");
  await turn('[[sim: tool=memory_search args={"query":"x"} ; text="two"]]', {}, `${sessions}/${answered}`);
  await turn('[[sim: tool=memory_save args={"text":"Likes tea."} ; text="kept"]]', { userId: "asking" });
  await turn("[[sim: fail=400]]", { userId: "failed" });
  await made(`/v1/agents/${agent.id}/memories`, { text: "Lives in Oslo." });
  const task = { name: "daily", agentId: agent.id, prompt: '[[sim: text="done"]]' };
  const taskId = (await made("/v1/tasks", task)).task.id;
  await made(`/v1/tasks/${taskId}/runs`, {});
  await eventually(async () => {
    const { data } = (await ask("GET", `/v1/tasks/${taskId}/runs`)).body;
    return data[0]?.status === "succeeded";
  });
  const workspace = await made("/v1/workspaces", { name: "files" });
  await made(`/v1/workspaces/${workspace.id}/files?path=notes.txt`, "kept over the upgrade", "PUT");
  await made("/v1/prompts", { name: "greeting", template: "Greet {{name}}." });
  await made("/v1/webhooks", { url: "https://hooks.example.com/parley", events: ["turn.ended"], enabled: false });
  return { agentId: agent.id, answered, asking: await sessionOf("asking"), taskId, workspaceId: workspace.id };
}

/** Returns what the interface says of all that a scene has, by path. */
export async function readScene(ask: Ask, { agentId, answered, asking, taskId, workspaceId }: Scene) {
  const agent = `/v1/agents/${agentId}`;
  const paths = [
    ...["/v1/agents", agent, `${agent}/versions`, `${agent}/memories`, `${agent}/sessions`, "/v1/providers"],
    ...[answered, asking].map((id) => `${agent}/sessions/${id}/messages`),
    ...[`${agent}/sessions/${asking}/tool-approvals`, "/v1/turns", "/v1/usage", "/v1/usage?groupBy=user"],
    ...["/v1/tasks", `/v1/tasks/${taskId}/runs`, "/v1/workspaces", `/v1/workspaces/${workspaceId}/files`],
    ...[`/v1/workspaces/${workspaceId}/files?path=notes.txt`, "/v1/prompts", "/v1/skills", "/v1/webhooks"],
    ...["/v1/apikeys", "/v1/audit-events"],
  ];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into responses freely.
  const answers: Record<string, any> = {};
  for (const path of paths) {
    const { status, body } = await ask("GET", path);
    expect([path, status]).toEqual([path, 200]);
    answers[path] = body;
  }
  return answers;
}

/** Decides what the scene's session asks, and sees its turn go on to its end. */
export async function decideScene(ask: Ask, { agentId, asking }: Scene): Promise<void> {
  const session = `/v1/agents/${agentId}/sessions/${asking}`;
  const [approval] = (await ask("GET", `${session}/tool-approvals`)).body.approvals;
  const decided = await ask("POST", `${session}/tool-approvals/${approval.id}`, { approved: true });
  expect(decided.status).toBeLessThan(300);
  await eventually(async () => {
    const { data } = (await ask("GET", `${session}/messages`)).body;
    return JSON.stringify(data).includes('"kept"');
  });
  const { data } = (await ask("GET", `/v1/agents/${agentId}/memories`)).body;
  expect(data.map(({ text }: { text: string }) => text)).toContain("Likes tea.");
}
