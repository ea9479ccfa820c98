import { InMemoryTaskMessageQueue, InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { type HttpServer, listen } from "../../src/kernel/runtime.ts";
import { McpSessions } from "./mcp-sessions.ts";

/** A store whose tasks any session may ask for. */
class SharedTaskStore extends InMemoryTaskStore {
  override createTask(...[params, requestId, request]: Parameters<InMemoryTaskStore["createTask"]>) {
    return super.createTask(params, requestId, request);
  }

  override getTask(taskId: string) {
    return super.getTask(taskId);
  }

  override getTaskResult(taskId: string) {
    return super.getTaskResult(taskId);
  }

  override storeTaskResult(...[taskId, status, result]: Parameters<InMemoryTaskStore["storeTaskResult"]>) {
    return super.storeTaskResult(taskId, status, result);
  }

  override updateTaskStatus(...[taskId, status, message]: Parameters<InMemoryTaskStore["updateTaskStatus"]>) {
    return super.updateTaskStatus(taskId, status, message);
  }
}

/** What of a task a test decides. */
export interface HeldTask {
  readonly taskId: string;
  /** It is at work, and says this. */
  says(message: string): Promise<void>;
  done(result: { content: { type: "text"; text: string }[]; isError?: boolean }): Promise<void>;
  fail(message: string): Promise<void>;
}

/** A real MCP server of revision 2025-11-25, made with the official SDK, whose tool `research` runs as a task only. Tasks outlive sessions. */
export class TaskMcpServer {
  readonly tasks: HeldTask[] = [];
  /** JSON-RPC methods in the order they came. */
  readonly methods: string[] = [];
  /** The next requests with this method get no response. */
  breaks: { method: string; times: number } | null = null;
  readonly #store = new SharedTaskStore();
  readonly #queue = new InMemoryTaskMessageQueue();
  readonly #sessions = new McpSessions(() => this.#newServer());
  readonly #server: HttpServer;

  constructor() {
    this.#server = listen({ hostname: "127.0.0.1", port: 0, fetch: (request) => this.#respond(request) });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/mcp`;
  }

  count(method: string): number {
    return this.methods.filter((seen) => seen === method).length;
  }

  /** How a task stands, as the server's own store has it. */
  async statusOf(taskId: string): Promise<string | undefined> {
    return (await this.#store.getTask(taskId))?.status;
  }

  /** Forgets every session, as a restart does; not the tasks. */
  forgetSessions(): void {
    this.#sessions.clear();
  }

  stop(): Promise<void> {
    this.#store.cleanup();
    return this.#server.stop(true);
  }

  async #respond(request: Request): Promise<Response> {
    const body = request.method === "POST" ? ((await request.json()) as { method?: string }) : undefined;
    if (body?.method !== undefined) this.methods.push(body.method);
    if (this.breaks !== null && this.breaks.times > 0 && this.breaks.method === body?.method) {
      this.breaks.times -= 1;
      return new Response("try again", { status: 503 });
    }
    return this.#sessions.respond(request, body);
  }

  #newServer(): Server {
    const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
    const server = new Server(
      { name: "task-server", version: "1.0.0" },
      { capabilities: { tools: {}, tasks }, taskStore: this.#store, taskMessageQueue: this.#queue },
    );
    server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: [
        { name: "research", inputSchema: { type: "object" as const }, execution: { taskSupport: "required" as const } },
      ],
    }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, { taskStore }) => {
      if (params.task === undefined || taskStore === undefined) throw new Error("This tool runs as a task only.");
      const task = await taskStore.createTask({ ttl: params.task.ttl ?? null, pollInterval: 200 });
      this.tasks.push(this.#held(task.taskId));
      return { task };
    });
    return server;
  }

  #held(taskId: string): HeldTask {
    return {
      taskId,
      says: (message) => this.#store.updateTaskStatus(taskId, "working", message),
      done: (result) => this.#store.storeTaskResult(taskId, "completed", result),
      fail: (text) =>
        this.#store.storeTaskResult(taskId, "failed", { content: [{ type: "text", text }], isError: true }),
    };
  }
}
