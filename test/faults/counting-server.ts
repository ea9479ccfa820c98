import type { Client } from "../harness/processes.ts";
import { McpServer, textResult, textTool } from "../servers/mcp.ts";
import { counterName } from "./plan.ts";

/** An MCP server whose one tool counts how often it was called with each text. Nothing disturbs it. */
export class CountingServer implements AsyncDisposable {
  /** By text. */
  readonly counts = new Map<string, number>();
  readonly #server = new McpServer();

  constructor() {
    this.#server.settings.tools = [textTool("count")];
    this.#server.settings.onCall = async ({ args }) => {
      const text = String(args.text);
      this.counts.set(text, (this.counts.get(text) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, callMs));
      return textResult(`counted ${text}`);
    };
  }

  /** Makes a connection of the client's tenant to it; returns its id. */
  async connect(client: Client): Promise<string> {
    const body = { name: counterName, url: this.#server.url, authType: "none" };
    const made = await client.request("POST", "/v1/mcp-connections", body);
    if (made.status !== 201) throw new Error(`${made.status} ${await made.text()}`);
    return ((await made.json()) as { id: string }).id;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
  }
}

/** So long that processes are killed while a call is under way. */
const callMs = 250;
