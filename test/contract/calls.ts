import type { Form } from "../../src/kernel/errors.ts";
import { form as multipart, skillMd, zip } from "../harness/archives.ts";
import { userMessage } from "../harness/seed.ts";
import { type Caller, idOf, nothing } from "./caller.ts";
import { outsideCalls } from "./calls-outside.ts";
import { responseCalls, responseVariants } from "./calls-responses.ts";
import { freshName, png, type Scene } from "./scene.ts";
import type { Call } from "./world.ts";

export const skillZip = (name = freshName("s"), files: readonly { name: string; data: Uint8Array }[] = []) =>
  zip([{ name: "SKILL.md", data: skillMd(name) }, ...files]);
const octets = { "content-type": "application/octet-stream" };
const model = { model: "simulated/model" };

const ofAgent: Caller = async (s) => ({ params: { agentId: await s.theAgent() } });
const ofSession: Caller = async (s) => ({ params: { ...(await s.theSession()) } });
const ofSkill: Caller = async (s) => ({ params: { ...(await s.theSkill()) } });
const turn = () => ({ message: userMessage("hi"), stream: false });

const changed: Caller = async (s) => ({
  params: { agentId: await s.theAgent() },
  body: { instructions: "Be brief." },
});
const agents: Record<string, Caller> = {
  "POST /v1/agents": async (s) => ({ body: { name: freshName(), ...model, providerId: await s.theProvider() } }),
  "GET /v1/agents": nothing,
  "GET /v1/agents/:agentId": ofAgent,
  "PUT /v1/agents/:agentId": changed,
  "POST /v1/agents/:agentId/drafts": changed,
  "DELETE /v1/agents/:agentId": idOf("agentId", (s) => s.newAgent()),
  "POST /v1/agents/:agentId/disable": idOf("agentId", (s) => s.newAgent()),
  "POST /v1/agents/:agentId/enable": idOf("agentId", (s) => s.newDisabledAgent()),
  "POST /v1/agents/:agentId/avatar": async (s) => ({
    params: { agentId: await s.theAgent() },
    body: multipart({ file: png }),
  }),
  "DELETE /v1/agents/:agentId/avatar": idOf("agentId", (s) => s.newPictured()),
  "GET /v1/agents/:agentId/versions": ofAgent,
  "GET /v1/agents/:agentId/versions/:version": async (s) => ({ params: { agentId: await s.theAgent(), version: "1" } }),
  "GET /v1/agents/:agentId/mcp-attachments": async (s) => ({ params: { agentId: (await s.theAttached()).agentId } }),
  "PATCH /v1/agents/:agentId/mcp-attachments/:mcpConnectionId": async (s) => ({
    params: { ...(await s.theAttached()) },
    body: { forwardUserId: true, forwardedMetadataKeys: [freshName("plan")] },
  }),
  "GET /v1/agents/:agentId/usage": async (s) => ({ params: { agentId: (await s.theSession()).agentId } }),
};

const session = "/v1/agents/:agentId/sessions/:sessionId";
const sessions: Record<string, Caller> = {
  "POST /v1/agents/:agentId/sessions": async (s) => ({ params: { agentId: await s.theAgent() }, body: turn() }),
  [`POST ${session}`]: async (s) => ({ params: { ...(await s.theSession()) }, body: turn() }),
  "POST /v1/agents/:agentId/generate": async (s) => ({
    params: { agentId: await s.theAgent() },
    body: { messages: [userMessage("hi")], stream: false },
  }),
  [`GET ${session}/stream`]: async (s) => ({
    params: { ...(await s.newRunning('text="one two three four" delayMs=500')) },
  }),
  [`POST ${session}/cancel`]: async (s) => ({ params: { ...(await s.newRunning()) } }),
  "GET /v1/agents/:agentId/sessions": async (s) => ({ params: { agentId: (await s.theSession()).agentId } }),
  "GET /v1/sessions/latest": async (s) => {
    await s.theSession();
    return {};
  },
  "GET /v1/turns": async (s) => {
    await s.theWaiting();
    return {};
  },
  "GET /v1/turns/:turnId": async (s) => ({ params: { turnId: await s.turnOf(await s.theWaiting()) } }),
  "GET /v1/turns/:turnId/input": async (s) => ({ params: { turnId: await s.turnOf(await s.theWaiting()) } }),
  "POST /v1/turns/:turnId/retry": async (s) => ({
    params: { turnId: await s.failedTurnOf(await s.newSession()) },
    body: { stream: false },
  }),
  "POST /v1/turns/cancel": async (s) => ({ body: { sessionId: (await s.newWaiting()).sessionId, userId: "" } }),
  [`GET ${session}/messages`]: ofSession,
  [`GET ${session}`]: async (s) => ({ params: { ...(await s.newRunning()) } }),
  [`PATCH ${session}`]: async (s) => ({ params: { ...(await s.newSession()) }, body: { metadata: { plan: "pro" } } }),
  [`DELETE ${session}`]: async (s, form) => ({
    params: { ...(await s.newSession()) },
    ...(form === "b" ? { query: { deleteArtifacts: "false" } } : {}),
  }),
  [`POST ${session}/fork`]: async (s) => ({ params: { ...(await s.theSession()) }, body: { userId: "ada" } }),
  [`GET ${session}/tool-calls`]: async (s) => {
    const { agentId, sessionId } = await s.newCalling();
    return { params: { agentId, sessionId } };
  },
  [`POST ${session}/tool-calls/:toolCallId`]: async (s) => ({
    params: { ...(await s.newCalling()) },
    body: { output: { latitude: 1 } },
  }),
  [`GET ${session}/tool-approvals`]: async (s) => {
    const { agentId, sessionId } = await s.theWaiting();
    return { params: { agentId, sessionId } };
  },
  [`POST ${session}/tool-approvals/:approvalId`]: async (s) => ({
    params: { ...(await s.newWaiting()) },
    body: { approved: true, reason: "Yes" },
  }),
  [`GET ${session}/tool-approval-continuations/:continuationId`]: async (s) => {
    const ids = await s.newWaiting();
    await s.parley.toolApprovals.decide(ids.agentId, ids.sessionId, ids.approvalId, { approved: false });
    return { params: { ...ids } };
  },
};

const records: Record<string, Caller> = {
  "POST /v1/prompts": () => ({ body: { name: freshName(), template: "Hello {{name}}" } }),
  "GET /v1/prompts": async (s) => {
    await s.thePrompt();
    return {};
  },
  "GET /v1/prompts/:promptId": idOf("promptId", (s) => s.thePrompt()),
  "PATCH /v1/prompts/:promptId": async (s) => ({
    params: { promptId: await s.newPrompt() },
    body: { template: "Bye {{name}}" },
  }),
  "DELETE /v1/prompts/:promptId": idOf("promptId", (s) => s.newPrompt()),
  "POST /v1/agents/:agentId/memories": async (s) => ({
    params: { agentId: await s.theAgent() },
    body: { text: "likes tea" },
  }),
  "GET /v1/agents/:agentId/memories": async (s) => ({ params: { agentId: (await s.theMemory()).agentId } }),
  "GET /v1/agents/:agentId/memories/:memoryId": async (s) => ({ params: { ...(await s.theMemory()) } }),
  "PATCH /v1/agents/:agentId/memories/:memoryId": async (s) => ({
    params: { ...(await s.newMemory()) },
    body: { text: "likes coffee" },
  }),
  "DELETE /v1/agents/:agentId/memories/:memoryId": async (s) => ({ params: { ...(await s.newMemory()) } }),
};

const skill = "/v1/agents/:agentId/skills/:skillId";
/** A library skill of the tenant. */
export const newEntry = async (s: Scene): Promise<string> => {
  const { body } = await s.t.call("POST", "/v1/skills", { body: multipart({ file: skillZip() }) });
  return body.id;
};
const theEntry = (s: Scene) => s.once("entry", () => newEntry(s));
const skills: Record<string, Caller> = {
  "GET /v1/agents/:agentId/skills": async (s) => ({ params: { agentId: (await s.theSkill()).agentId } }),
  "POST /v1/agents/:agentId/skills": async (s) => ({
    params: { agentId: await s.theAgent() },
    body: { path: "SKILL.md", content: skillMd(freshName("s")) },
  }),
  "POST /v1/agents/:agentId/skills/upload": async (s) => ({
    params: { agentId: await s.theAgent() },
    body: multipart({ type: "zip", file: skillZip() }),
  }),
  [`GET ${skill}`]: ofSkill,
  [`DELETE ${skill}`]: async (s) => ({ params: { ...(await s.newSkill()) } }),
  [`GET ${skill}/files`]: async (s) => ({ params: { ...(await s.theSkill()) }, query: { path: "SKILL.md" } }),
  [`PUT ${skill}/files`]: async (s) => ({
    params: { ...(await s.theSkill()) },
    query: { path: "notes.md" },
    body: new Uint8Array([1, 2, 3]),
    headers: octets,
  }),
  [`DELETE ${skill}/files`]: (s) => s.newSkillFile(),
  [`POST ${skill}/copies`]: async (s) => ({
    params: { ...(await s.newSkill()) },
    body: { agentIds: [await s.theAttached().then(({ agentId }) => agentId)] },
  }),
  "POST /v1/skills": () => ({
    body: multipart({ file: skillZip(), filename: "tea.zip", userId: "u", metadata: "{}" }),
  }),
  "GET /v1/skills": async (s) => {
    await theEntry(s);
    return {};
  },
  "GET /v1/skills/:skillId": idOf("skillId", theEntry),
  "PUT /v1/skills/:skillId": async (s) => ({
    params: { skillId: await theEntry(s) },
    body: multipart({ file: skillZip() }),
  }),
  "DELETE /v1/skills/:skillId": idOf("skillId", newEntry),
};

const access: Record<string, Caller> = {
  "GET /v1/usage": async (s) => {
    await s.theSession();
    return {};
  },
  "POST /v1/apikeys": async (s) => {
    await s.roomForKeys();
    return { body: { name: freshName() } };
  },
  "GET /v1/apikeys": nothing,
  "GET /v1/audit-events": async (s) => {
    await s.newKey();
    return {};
  },
  "DELETE /v1/apikeys/:id": idOf("id", (s) => s.newKey()),
  "GET /v1/members": async (s) => {
    await s.newMember();
    return {};
  },
  "POST /v1/members": async () => ({ body: { email: `${freshName()}@example.org`, role: "editor" } }),
  "GET /v1/members/:memberId": idOf("memberId", (s) => s.newMember()),
  "PATCH /v1/members/:memberId": async (s) => ({
    params: { memberId: await s.newMember() },
    body: { role: "approver" },
  }),
  "DELETE /v1/members/:memberId": idOf("memberId", (s) => s.newMember()),
  "POST /v1/client-tokens": async (s) => ({ body: { agentId: await s.theAgent(), userId: "anna" } }),
  "DELETE /v1/client-tokens/:id": idOf("id", (s) => s.newClientToken()),
  "GET /v1/providers": async (s) => {
    await s.theProvider();
    return {};
  },
  "POST /v1/providers": async (s) => {
    await roomForProviders(s);
    return {
      body: { name: freshName(), providerType: "custom", baseUrl: s.w.h.model.url, apiKey: "sk-test-0123456789" },
    };
  },
  "GET /v1/providers/:id": idOf("id", (s) => s.theProvider()),
  "PATCH /v1/providers/:id": async (s) => ({ params: { id: await s.theProvider() }, body: { name: freshName() } }),
  "DELETE /v1/providers/:id": idOf("id", (s) => s.newProvider()),
  "GET /v1/providers/:id/models": idOf("id", (s) => theListed(s)),
  "GET /v1/providers/:id/thinking-levels": async (s) => ({
    params: { id: await theListed(s) },
    query: { model: "openai/gpt-5" },
  }),
};

/** A provider whose models are listed. */
export const theListed = (s: Scene) =>
  s.once("listed", () => s.newProvider({ providerType: "openai", baseUrl: `${s.w.vendor.url}/v1` }));

async function roomForProviders(s: Scene): Promise<void> {
  const keep = await s.theProvider();
  await s.sql`
    delete from providers where tenant_id = ${s.t.id} and id not in (
      select id from providers where tenant_id = ${s.t.id} and id <> ${keep} order by created_at limit 10) and id <> ${keep}`;
}

const target = async (s: Scene) => ({ url: s.w.mcp.url, authType: "none" });
const connections: Record<string, Caller> = {
  "GET /v1/mcp-connections": async (s) => {
    await s.theMcp();
    return {};
  },
  "POST /v1/mcp-connections": async (s) => ({ body: { name: freshName(), ...(await target(s)) } }),
  "GET /v1/mcp-connections/:id": idOf("id", (s) => s.theMcp()),
  "PATCH /v1/mcp-connections/:id": async (s) => ({ params: { id: await s.theMcp() }, body: { name: freshName() } }),
  "DELETE /v1/mcp-connections/:id": idOf("id", (s) => s.newMcp()),
  "POST /v1/mcp-connections/:id/test": idOf("id", (s) => s.theMcp()),
  "POST /v1/mcp-connections/:id/reconnect": async (s) => ({
    params: { id: await s.theMcp() },
    body: { ...(await target(s)), url: `${s.w.mcp.url}?of=${freshName()}` },
  }),
  "POST /v1/mcp-connections/:id/connect": async (s) => ({
    params: { id: await s.theSignIn() },
    token: s.w.dashboard(s.t.id),
  }),
};

const workspaces: Record<string, Caller> = {
  "POST /v1/sandboxes": () => ({ body: {} }),
  "GET /v1/sandboxes": nothing,
  "GET /v1/sandboxes/:sandboxId": idOf("sandboxId", (s) => s.theSandbox()),
  "PUT /v1/sandboxes/:sandboxId": async (s) => ({
    params: { sandboxId: await s.theSandbox() },
    body: { name: freshName() },
  }),
  "DELETE /v1/sandboxes/:sandboxId": idOf("sandboxId", (s) => s.newSandbox()),
  "POST /v1/workspaces": () => ({ body: { name: freshName() } }),
  "GET /v1/workspaces": nothing,
  "GET /v1/workspaces/:workspaceId": idOf("workspaceId", (s) => s.theWorkspace()),
  "PATCH /v1/workspaces/:workspaceId": async (s) => ({
    params: { workspaceId: await s.theWorkspace() },
    body: { name: freshName() },
  }),
  "DELETE /v1/workspaces/:workspaceId": idOf("workspaceId", (s) => s.newWorkspace()),
  "POST /v1/workspaces/:workspaceId/commands": async (s) => ({
    params: { workspaceId: await s.theWorkspace() },
    body: { command: "echo done" },
  }),
  "POST /v1/sandboxes/:sandboxId/commands": async (s) => ({
    params: { sandboxId: await s.theSandbox() },
    body: { command: "echo done" },
  }),
  "GET /v1/workspaces/:workspaceId/files": idOf("workspaceId", (s) => s.theWorkspace()),
  "PUT /v1/workspaces/:workspaceId/files": async (s) => ({
    params: { workspaceId: await s.theWorkspace() },
    query: { path: "notes.txt" },
    body: new Uint8Array([1, 2, 3]),
    headers: octets,
  }),
  "DELETE /v1/workspaces/:workspaceId/files": async (s) => {
    const { workspaceId, path } = await s.newFile();
    return { params: { workspaceId }, query: { path } };
  },
};

/** How each operation of the table is called so that it succeeds. */
export const calls: Readonly<Record<string, Caller>> = {
  ...agents,
  ...sessions,
  ...records,
  ...skills,
  ...access,
  ...connections,
  ...workspaces,
  ...outsideCalls,
  ...responseCalls,
};

/** Further successes: another status, or another kind of body, than the usual one. */
export const variants: readonly { op: string; status: number; shape: string | null; call: Caller }[] = [
  {
    op: "POST /v1/agents/:agentId/sessions",
    status: 201,
    shape: "stream",
    call: async (s) => ({ params: { agentId: await s.theAgent() }, body: { message: userMessage("hi") } }),
  },
  {
    op: `POST ${session}`,
    status: 200,
    shape: "stream",
    call: async (s) => ({ params: { ...(await s.theSession()) }, body: { message: userMessage("hi") } }),
  },
  {
    op: `POST ${session}`,
    status: 202,
    shape: "SessionPause",
    call: async (s) => {
      const { message, ...params } = await s.newHalfSettled();
      return { params, body: { message } };
    },
  },
  {
    op: "POST /v1/agents/:agentId/generate",
    status: 200,
    shape: "stream",
    call: async (s) => ({ params: { agentId: await s.theAgent() }, body: { messages: [userMessage("hi")] } }),
  },
  {
    op: `GET ${session}/stream`,
    status: 204,
    shape: null,
    call: async (s) => ({ params: { ...(await s.newSession()) } }),
  },
  {
    op: "POST /v1/tasks",
    status: 202,
    shape: "TaskMade",
    call: async (s) => ({ body: { agentId: await s.theAgent(), name: "n", prompt: "p", submit: true } }),
  },
  {
    op: "POST /v1/mcp-connections/:id/test",
    status: 200,
    shape: "McpTest",
    call: idOf("id", (s) => s.newMcp({ authType: "oauth_authorization_code" })),
  },
  {
    op: `POST ${skill}/copies`,
    status: 200,
    shape: "SkillCopies",
    call: async (s) => ({ params: { ...(await s.theSkill()) }, body: { agentIds: [`ag_${"0".repeat(24)}`] } }),
  },
  {
    op: "DELETE /v1/workspaces/:workspaceId",
    status: 202,
    shape: "WorkspaceDeleting",
    call: idOf("workspaceId", newFullWorkspace),
  },
  {
    op: "DELETE /v1/sandboxes/:sandboxId",
    status: 202,
    shape: "WorkspaceDeleting",
    call: idOf("sandboxId", async (s) => `sb_${(await newFullWorkspace(s)).slice(3)}`),
  },
  {
    op: "GET /v1/workspaces/:workspaceId/files",
    status: 200,
    shape: "bytes",
    call: async (s) => ({ params: { workspaceId: await newFullWorkspace(s, 1) }, query: { path: "f1" } }),
  },
  ...responseVariants,
  { op: "GET /v1/merchant-connection", status: 200, shape: "MerchantConnectionRead", call: nothing },
];

/** A workspace with more files than a request deletes. */
async function newFullWorkspace(s: Scene, files = 201): Promise<string> {
  const id = await s.newWorkspace();
  await s.sql`
    insert into workspace_files (workspace_id, path, content, size)
    select ${id}, 'f' || number, 'x'::bytea, 1 from generate_series(1, ${files}) as number`;
  return id;
}

/** The call of an operation that succeeds. */
export async function callOf(s: Scene, op: string, form: Form): Promise<Call> {
  const caller = calls[op];
  if (caller === undefined) throw new Error(`Nobody knows how to call ${op}.`);
  return caller(s, form);
}
