import type { AgentCreate, McpConnectionCreate, ProviderCreate, TaskCreate, TurnCreate } from "parley/client";
import { newId } from "../../src/kernel/ids.ts";
import { form, skillMd } from "../harness/archives.ts";
import { type ApiResponse, eventually, type TestTenant } from "../harness/harness.ts";
import { makeProvider, userMessage } from "../harness/seed.ts";
import type { World } from "./world.ts";

let names = 0;
/** A name that nothing else has. */
export function freshName(prefix = "n"): string {
  names += 1;
  return `${prefix}-${names}`;
}

/** The beginning of a picture, which is enough of one. */
export const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0]);

interface SessionIds {
  readonly agentId: string;
  readonly sessionId: string;
}

/** A session whose first turn waits for a person. */
export interface WaitingIds extends SessionIds {
  readonly approvalId: string;
  readonly continuationId: string;
}

/**
 * A tenant with whatever a call needs. `the…` makes a thing once and returns
 * the same one again; `new…` makes another one.
 */
export class Scene {
  readonly w: World;
  readonly t: TestTenant;
  readonly #made = new Map<string, Promise<unknown>>();

  constructor(w: World, t: TestTenant) {
    this.w = w;
    this.t = t;
  }

  static async open(w: World): Promise<Scene> {
    return new Scene(w, await w.h.tenant());
  }

  get parley() {
    return this.t.parley;
  }

  get sql() {
    return this.w.h.sql;
  }

  once<T>(what: string, make: () => Promise<T>): Promise<T> {
    const known = this.#made.get(what) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const made = make();
    this.#made.set(what, made);
    return made;
  }

  theProvider = () => this.once("provider", () => this.newProvider());
  newProvider = async (fields: Partial<ProviderCreate> = {}) =>
    (await makeProvider(this.w.h, this.t, { name: freshName(), ...fields })).id;

  theAgent = () => this.once("agent", () => this.newAgent());
  newAgent = async (fields: Partial<AgentCreate> = {}) => {
    const body = { name: freshName(), model: "simulated/model", providerId: await this.theProvider(), ...fields };
    return (await this.parley.agents.create(body)).id;
  };

  newDisabledAgent = async (): Promise<string> => {
    const agentId = await this.newAgent();
    await this.parley.agents.disable(agentId);
    return agentId;
  };

  newPictured = async (): Promise<string> => {
    const agentId = await this.newAgent();
    await this.t.call("POST", `/v1/agents/${agentId}/avatar`, { body: form({ file: png }) });
    return agentId;
  };

  theSession = () => this.once("session", () => this.newSession());
  /** A session whose first turn has ended. */
  newSession = async (fields: TurnCreate = {}, agent?: string): Promise<SessionIds> => {
    const agentId = agent ?? (await this.theAgent());
    const body = { message: userMessage("hi"), ...fields, stream: true as const };
    const turn = await this.parley.sessions.create(agentId, body);
    for await (const _ of turn);
    return { agentId, sessionId: turn.sessionId ?? "" };
  };

  theAsker = () =>
    this.once("asker", () => this.newAgent({ tools: ["memory"], approvalInChat: { default: "manual" } }));
  theWaiting = () => this.once("waiting", () => this.newWaiting());
  newWaiting = async (): Promise<WaitingIds> => {
    const agentId = await this.theAsker();
    const ask = '[[sim: tool=memory_save args={"text":"tea"} ; text="Done."]]';
    const { sessionId } = await this.newSession({ message: userMessage(ask) }, agentId);
    const { approvals, continuation } = await this.parley.toolApprovals.list(agentId, sessionId);
    return { agentId, sessionId, approvalId: approvals[0]?.id ?? "", continuationId: continuation?.id ?? "" };
  };

  theCaller = () =>
    this.once("caller", () => {
      const inputSchema = { type: "object" as const };
      return this.newAgent({ clientTools: [{ name: "locate", description: "Where the user is.", inputSchema }] });
    });
  /** A session whose turn waits for the result of a client tool. */
  newCalling = async (
    calls = "tool=locate args={}",
    userId = "",
  ): Promise<SessionIds & { readonly toolCallId: string }> => {
    const agentId = await this.theCaller();
    const message = userMessage(`[[sim: ${calls} ; text="Done."]]`);
    const { sessionId } = await this.newSession({ message, userId }, agentId);
    const { toolCalls } = await this.parley.toolCalls.list(agentId, sessionId);
    return { agentId, sessionId, toolCallId: toolCalls[0]?.toolCallId ?? "" };
  };

  /** One whose turn waits for two, and its message with the result of the first. */
  newHalfSettled = async (userId = "") => {
    const ids = await this.newCalling("tool=locate args={} tool=locate args={}", userId);
    const { data } = await this.parley.sessions.listMessages(ids.agentId, ids.sessionId);
    const message = data.at(-1) as { readonly parts: readonly { readonly toolCallId?: string }[] };
    const parts = message.parts.map((part) =>
      part.toolCallId === ids.toolCallId ? { ...part, state: "output-available", output: 1 } : part,
    );
    return { agentId: ids.agentId, sessionId: ids.sessionId, message: { ...message, parts } };
  };

  /** A session whose turn hangs in the model until it is canceled, or does as its script says. */
  newRunning = async (script = 'text="one two" hangAfterChunks=1'): Promise<SessionIds> => {
    const ids = await this.newSession();
    const path = `/v1/agents/${ids.agentId}/sessions/${ids.sessionId}`;
    // Not awaited: the turn hangs. Who ends the service while it does breaks the response off.
    const body = { message: userMessage(`[[sim: ${script}]]`) };
    this.t.call("POST", path, { form: "b", body }).catch(() => {});
    await eventually(async () => {
      const [row] = await this.sql`select 1 from turns where session_id = ${ids.sessionId} and status = 'running'`;
      return row !== undefined;
    });
    return ids;
  };

  /** The newest turn of a session. */
  turnOf = async ({ sessionId }: SessionIds): Promise<string> => {
    const [turn] = await this
      .sql`select id from turns where session_id = ${sessionId} order by accepted_at desc limit 1`;
    return turn?.id;
  };

  /** Makes the last turn of a session that has ended one that failed, asked with this message; what it said stays. */
  failedTurnOf = async ({ sessionId }: SessionIds, message: object = userMessage("hi")): Promise<string> => {
    const error = { code: "provider_error", message: "The model provider failed." };
    const [turn] = await this.sql`
      update turns set status = 'failed', error = ${JSON.stringify(error)}::text::json, input = ${JSON.stringify(message)}::text::json
      where id = (select id from turns where session_id = ${sessionId} and finished_at is not null order by accepted_at desc limit 1)
      returning id`;
    return turn?.id;
  };

  cancel = ({ agentId, sessionId }: SessionIds) => this.parley.sessions.cancel(agentId, sessionId);

  thePrompt = () => this.once("prompt", () => this.newPrompt());
  newPrompt = async (template = "Hello {{name}}") =>
    (await this.parley.prompts.create({ name: freshName(), template })).id;

  theMemory = () => this.once("memory", () => this.newMemory());
  newMemory = async () => {
    const agentId = await this.theAgent();
    return { agentId, memoryId: (await this.parley.memories.create(agentId, { text: "likes tea" })).id };
  };

  theSkill = () => this.once("skill", () => this.newSkill());
  newSkill = async (agent?: string) => {
    const agentId = agent ?? (await this.theAgent());
    const body = { path: "SKILL.md" as const, content: skillMd(freshName()) };
    return { agentId, skillId: (await this.parley.skills.create(agentId, body)).id };
  };

  theWorkspace = () => this.once("workspace", () => this.newWorkspace());
  newWorkspace = async () => (await this.parley.workspaces.create()).id;
  newFile = async () => {
    const [workspaceId, path] = [await this.theWorkspace(), `${freshName()}.txt`];
    await this.#writeFile(`/v1/workspaces/${workspaceId}`, path);
    return { workspaceId, path };
  };
  newSkillFile = async () => {
    const [params, path] = [await this.theSkill(), `${freshName()}.md`];
    await this.#writeFile(`/v1/agents/${params.agentId}/skills/${params.skillId}`, path);
    return { params, query: { path } };
  };
  #writeFile(of: string, path: string) {
    const headers = { "content-type": "application/octet-stream" };
    return this.t.call("PUT", `${of}/files?path=${path}`, { body: "here", headers, form: "b" });
  }
  newSandbox = async () => `sb_${(await this.newWorkspace()).slice(3)}`;
  theSandbox = async () => `sb_${(await this.theWorkspace()).slice(3)}`;

  theMcp = () => this.once("mcp", () => this.newMcp());
  newMcp = async (fields: Partial<McpConnectionCreate> = {}) => {
    const body = { name: freshName(), url: this.w.mcp.url, authType: "none" as const, ...fields };
    return (await this.parley.mcpConnections.create(body)).id;
  };
  theSignIn = () => this.once("sign-in", () => this.newMcp({ authType: "oauth_authorization_code" }));
  /** An agent with the MCP connection attached. */
  theAttached = () =>
    this.once("attached", async () => {
      const mcpConnectionId = await this.newMcp();
      return { agentId: await this.newAgent({ mcpConnectionIds: [mcpConnectionId] }), mcpConnectionId };
    });

  theTask = () => this.once("task", () => this.newTask());
  newTask = async (fields: Partial<TaskCreate> = {}): Promise<string> => {
    const body = { agentId: await this.theAgent(), name: "n", prompt: "p", ...fields };
    return (await this.parley.tasks.create(body)).task.id;
  };
  theRun = () => this.once("run", () => this.newRun());
  newRun = async () => {
    const taskId = await this.newTask();
    const { runId } = await this.parley.taskRuns.start(taskId);
    await eventually(async () => {
      const [row] = await this.sql`select 1 from task_runs where id = ${runId} and finished_at is not null`;
      return row !== undefined;
    });
    return { taskId, runId };
  };
  /** A task whose run hangs in the model. */
  newActiveRun = async () => {
    const taskId = await this.newTask({ prompt: '[[sim: text="one two" hangAfterChunks=1]]' });
    return { taskId, runId: (await this.parley.taskRuns.start(taskId)).runId };
  };

  /** Makes room under the cap of five keys. */
  roomForKeys = async () => {
    await this.sql`
      delete from api_keys where tenant_id = ${this.t.id} and id not in (
        select id from api_keys where tenant_id = ${this.t.id} order by created_at limit 1)`;
  };
  newKey = async (): Promise<string> => {
    await this.roomForKeys();
    return (await this.parley.apiKeys.create({ name: freshName() })).apiKey.id;
  };

  newMember = async (): Promise<string> =>
    (await this.parley.members.create({ email: `${freshName()}@example.org`, role: "reader" })).id;

  newClientToken = async (): Promise<string> => {
    const body = { agentId: await this.theAgent(), userId: "anna" };
    return (await this.t.call("POST", "/v1/client-tokens", { body })).body.id;
  };

  /** A tenant's row changed, as the operator's command line would. */
  setTenant = async (fields: Record<string, unknown>) => {
    await this.sql`update tenants set ${this.sql(fields as never)} where id = ${this.t.id}`;
  };

  newRowId = newId;
}

/** Valid client tokens of an agent, as rows. */
export async function fillClientTokens({ sql, t }: Scene, agentId: string, count: number): Promise<void> {
  await sql`
    insert into client_tokens (id, tenant_id, digest, agent_id, user_id, origins, expires_at)
    select 'ctk_' || number || ${t.id}, ${t.id}, sha256((${t.id}::text || number)::bytea), ${agentId}, 'anna', '{}', now() + interval '1 hour'
    from generate_series(1, ${count}::int) number`;
}

/** Origins of an agent's client tokens, as rows. */
export async function fillClientOrigins({ sql, t }: Scene, agentId: string, count: number): Promise<void> {
  await sql`
    insert into client_origins (origin, agent_id, tenant_id, expires_at)
    select 'https://filler-' || number || '.example.com', ${agentId}, ${t.id}, now() + interval '1 day'
    from generate_series(1, ${count}::int) number`;
}

/** Members, as rows. */
export async function fillMembers({ sql, t }: Scene, count: number): Promise<void> {
  await sql`
    insert into members (id, tenant_id, email, email_key, role)
    select 'mbr_' || substr(md5(random()::text), 1, 24), ${t.id}, 'f' || number || '@filler.example', 'f' || number || '@filler.example', 'reader'
    from generate_series(1, ${count}::int) number`;
}

/** The session that a response's `Location` names. */
export function sessionOf(response: ApiResponse): string {
  return response.headers.get("location")?.split("/").at(-1) ?? "";
}
