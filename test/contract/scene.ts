import { newId } from "../../src/kernel/ids.ts";
import { skillMd } from "../harness/archives.ts";
import { type ApiResponse, eventually, type TestTenant } from "../harness/harness.ts";
import { userMessage } from "../harness/seed.ts";
import type { World } from "./world.ts";

let names = 0;
/** A name that nothing else has. */
export function freshName(prefix = "n"): string {
  names += 1;
  return `${prefix}-${names}`;
}

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
 * A tenant with whatever a call needs. `the…` makes a thing once and answers the
 * same one again; `new…` makes another one.
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

  /** Makes something in form B and returns its id. */
  async make(path: string, body: unknown): Promise<string> {
    return (await this.made(path, body)).body.id;
  }

  async made(path: string, body: unknown): Promise<ApiResponse> {
    const response = await this.t.call("POST", path, { form: "b", body });
    if (response.status >= 300) throw new Error(`${path}: ${response.status} ${JSON.stringify(response.body)}`);
    return response;
  }

  theProvider = () => this.once("provider", () => this.newProvider());
  newProvider = (fields: object = {}) =>
    this.make("/v1/providers", {
      name: freshName(),
      providerType: "custom",
      baseUrl: this.w.h.model.url,
      apiKey: "sk-test-0123456789",
      ...fields,
    });

  theAgent = () => this.once("agent", () => this.newAgent());
  newAgent = async (fields: object = {}) =>
    this.make("/v1/agents", {
      name: freshName(),
      model: "simulated/model",
      providerId: await this.theProvider(),
      ...fields,
    });

  theSession = () => this.once("session", () => this.newSession());
  newSession = async (fields: object = {}): Promise<SessionIds> => {
    const agentId = await this.theAgent();
    const body = { message: userMessage("hi"), stream: false, ...fields };
    return { agentId, sessionId: sessionOf(await this.made(`/v1/agents/${agentId}/sessions`, body)) };
  };

  theAsker = () =>
    this.once("asker", () => this.newAgent({ tools: ["memory"], approvalInChat: { default: "manual" } }));
  theWaiting = () => this.once("waiting", () => this.newWaiting());
  newWaiting = async (): Promise<WaitingIds> => {
    const agentId = await this.theAsker();
    const ask = '[[sim: tool=memory_save args={"text":"tea"} ; text="Done."]]';
    const sessionId = sessionOf(await this.made(`/v1/agents/${agentId}/sessions`, { message: userMessage(ask) }));
    const { body } = await this.t.call("GET", `/v1/agents/${agentId}/sessions/${sessionId}/tool-approvals`);
    return { agentId, sessionId, approvalId: body.approvals[0].id, continuationId: body.continuation.id };
  };

  /** A session whose turn hangs in the model until it is canceled, or does as its script says. */
  newRunning = async (script = 'text="one two" hangAfterChunks=1'): Promise<SessionIds> => {
    const ids = await this.newSession();
    const path = `/v1/agents/${ids.agentId}/sessions/${ids.sessionId}`;
    const body = { message: userMessage(`[[sim: ${script}]]`) };
    void this.t.call("POST", path, { form: "b", body });
    await eventually(async () => {
      const [row] = await this.sql`select 1 from turns where session_id = ${ids.sessionId} and status = 'running'`;
      return row !== undefined;
    });
    return ids;
  };

  cancel = ({ agentId, sessionId }: SessionIds) =>
    this.t.call("POST", `/v1/agents/${agentId}/sessions/${sessionId}/cancel`, { form: "b" });

  thePrompt = () => this.once("prompt", () => this.newPrompt());
  newPrompt = (template = "Hello {{name}}") => this.make("/v1/prompts", { name: freshName(), template });

  theMemory = () => this.once("memory", () => this.newMemory());
  newMemory = async () => {
    const agentId = await this.theAgent();
    return { agentId, memoryId: await this.make(`/v1/agents/${agentId}/memories`, { text: "likes tea" }) };
  };

  theSkill = () => this.once("skill", () => this.newSkill());
  newSkill = async (agent?: string) => {
    const agentId = agent ?? (await this.theAgent());
    const body = { path: "SKILL.md", content: skillMd(freshName()) };
    return { agentId, skillId: await this.make(`/v1/agents/${agentId}/skills`, body) };
  };

  theWorkspace = () => this.once("workspace", () => this.newWorkspace());
  newWorkspace = () => this.make("/v1/workspaces", {});
  newSandbox = async () => `sb_${(await this.newWorkspace()).slice(3)}`;
  theSandbox = async () => `sb_${(await this.theWorkspace()).slice(3)}`;

  theMcp = () => this.once("mcp", () => this.newMcp());
  newMcp = (fields: object = {}) =>
    this.make("/v1/mcp-connections", { name: freshName(), url: this.w.mcp.url, authType: "none", ...fields });
  theSignIn = () => this.once("sign-in", () => this.newMcp({ authType: "oauth_authorization_code" }));
  /** An agent with the MCP connection attached. */
  theAttached = () =>
    this.once("attached", async () => {
      const mcpConnectionId = await this.newMcp();
      return { agentId: await this.newAgent({ mcpConnectionIds: [mcpConnectionId] }), mcpConnectionId };
    });

  theTask = () => this.once("task", () => this.newTask());
  newTask = async (fields: object = {}): Promise<string> => {
    const body = { agentId: await this.theAgent(), name: "n", prompt: "p", ...fields };
    return (await this.made("/v1/tasks", body)).body.task.id;
  };
  theRun = () => this.once("run", () => this.newRun());
  newRun = async () => {
    const taskId = await this.newTask();
    const runId = (await this.made(`/v1/tasks/${taskId}/runs`, {})).body.runId as string;
    await eventually(async () => {
      const [row] = await this.sql`select 1 from task_runs where id = ${runId} and finished_at is not null`;
      return row !== undefined;
    });
    return { taskId, runId };
  };
  /** A task whose run hangs in the model. */
  newActiveRun = async () => {
    const taskId = await this.newTask({ prompt: '[[sim: text="one two" hangAfterChunks=1]]' });
    return { taskId, runId: (await this.made(`/v1/tasks/${taskId}/runs`, {})).body.runId as string };
  };

  /** Makes room under the cap of five keys. */
  roomForKeys = async () => {
    await this.sql`
      delete from api_keys where tenant_id = ${this.t.id} and id not in (
        select id from api_keys where tenant_id = ${this.t.id} order by created_at limit 1)`;
  };
  newKey = async (): Promise<string> => {
    await this.roomForKeys();
    return (await this.made("/v1/apikeys", { name: freshName() })).body.apiKey.id;
  };

  /** A tenant's row changed, as the operator's command line would. */
  setTenant = async (fields: Record<string, unknown>) => {
    await this.sql`update tenants set ${this.sql(fields as never)} where id = ${this.t.id}`;
  };

  newRowId = newId;
}

/** The session that an answer's `Location` names. */
export function sessionOf(response: ApiResponse): string {
  return response.headers.get("location")?.split("/").at(-1) ?? "";
}
