import { McpServer, textResult, textTool } from "../servers/mcp.ts";
import type { Client } from "./processes.ts";

/** The name of a counting tool as a model calls it. */
export const countTool = "counter__count";

/** The same of one that only reads, so that no policy asks before it runs. */
export const lookTool = "counter__look";

/** 2 MiB, in base64. */
export const largePicture = Buffer.alloc(2 * 1024 * 1024, 1).toString("base64");

/** An MCP server whose tools count how often they were called with each text and may be made to wait. */
export class CountingTool implements AsyncDisposable {
  /** Whether calls return a large picture beside the text, and say that half of them is done before they wait. */
  isRich = false;
  /** Calls by text. */
  readonly counts = new Map<string, number>();
  readonly #server = new McpServer();
  readonly #held = new Map<string, PromiseWithResolvers<void>>();

  constructor() {
    this.#server.settings.tools = [textTool("count"), textTool("look", { annotations: { readOnlyHint: true } })];
    this.#server.settings.onCall = async ({ args, report }) => {
      const text = String(args.text);
      this.counts.set(text, (this.counts.get(text) ?? 0) + 1);
      if (this.isRich) await report(1, 2, "half");
      await this.#held.get(text)?.promise;
      const { content } = textResult(`counted ${text}`);
      return {
        content: this.isRich ? [...content, { type: "image", mimeType: "image/png", data: largePicture }] : content,
      };
    };
  }

  /** Has calls with this text wait for `release`. */
  hold(text: string): void {
    this.#held.set(text, Promise.withResolvers());
  }

  release(text: string): void {
    this.#held.get(text)?.resolve();
  }

  /** Gives it to the client's agent; calls run at once, or as `policy` says. */
  async offer(client: Client, policy: "full" | "auto" = "full"): Promise<void> {
    const body = { name: "counter", url: this.#server.url, authType: "none" };
    const made = await client.request("POST", "/v1/mcp-connections", body);
    if (made.status !== 201) throw new Error(`${made.status} ${await made.text()}`);
    const { id } = (await made.json()) as { id: string };
    const approvalInChat = { default: policy };
    const changes = { mcpConnectionIds: [id], approvalInChat };
    const changed = await client.request("PUT", `/v1/agents/${client.agentId}`, changes);
    if (changed.status !== 200) throw new Error(`${changed.status} ${await changed.text()}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { resolve } of this.#held.values()) resolve();
    await this.#server.stop();
  }
}
