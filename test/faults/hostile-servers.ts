import type { ServerResponse } from "node:http";
import { bodyText, drained, startLoopback } from "../servers/loopback.ts";
import { McpServer } from "../servers/mcp.ts";

/** What a hostile model does; the last `[[bad: NAME]]` of a request says which. */
export const hostileActs = ["hang", "line", "garbage", "half", "negative", "fraction", "huge", "slow", "asks"] as const;
export type HostileAct = (typeof hostileActs)[number];

/** A model provider and an MCP server of a tenant that means harm. */
export interface HostileServers extends AsyncDisposable {
  /** The base URL for a provider. */
  readonly modelUrl: string;
  /** From `silence` on it responds to nothing. */
  readonly mcp: McpServer;
  silence(): void;
}

/** What a request to a model has that counts here. */
interface Asked {
  readonly text: string;
  readonly afterTool: boolean;
}

const event = (choice: object, more: object = {}) =>
  `data: ${JSON.stringify({ id: "x", choices: [{ index: 0, ...choice }], ...more })}\n\n`;
const word = (content: string) => event({ delta: { content } });
const endWith = (usage: object = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 }) =>
  `${event({ delta: {}, finish_reason: "stop" }, { usage })}data: [DONE]\n\n`;
const lie = (tokens: number) => ({ prompt_tokens: tokens, completion_tokens: tokens, total_tokens: tokens });

/** An event that never ends is written up to this many bytes, which is more than anybody reads. */
const lineBytes = 3 * 1024 * 1024;
const linePiece = "x".repeat(64 * 1024);
/** A slow answer is so many pieces, with this pause before each. */
const slowPieces = 8;
const slowPauseMs = 250;

const acts: Record<HostileAct, (response: ServerResponse, asked: Asked) => void | Promise<void>> = {
  hang: () => {},
  line: async (response) => {
    response.write("data: ");
    for (let written = 0; written < lineBytes && !response.destroyed; written += linePiece.length)
      if (!response.write(linePiece)) await drained(response);
    response.destroy();
  },
  garbage: (response) => void response.end(`data: {"choices":[{\n\ndata: \u0000\ufffd]]}\n\n${"?".repeat(2_000)}`),
  half: (response) => void response.write(word("Half an"), () => response.destroy()),
  negative: (response) => void response.end(word("Less than nothing.") + endWith(lie(-1_000_000))),
  fraction: (response) => void response.end(word("A bit.") + endWith(lie(0.5))),
  huge: (response) => void response.end(word("All there is.") + endWith(lie(1e30))),
  slow: async (response) => {
    for (let piece = 0; piece < slowPieces && !response.destroyed; piece++) {
      response.write(word(`${piece} `));
      await new Promise((resolve) => setTimeout(resolve, slowPauseMs));
    }
    response.end(endWith());
  },
  asks: (response, { text, afterTool }) => {
    const save = { name: "memory_save", arguments: JSON.stringify({ text: text.slice(0, 100) }) };
    const call = { index: 0, id: crypto.randomUUID(), type: "function", function: save };
    if (afterTool) response.end(word("Noted.") + endWith());
    else response.end(event({ delta: { tool_calls: [call] } }) + event({ delta: {}, finish_reason: "tool_calls" }));
  },
};

/** Starts both. */
export async function startHostileServers(): Promise<HostileServers> {
  const model = await startLoopback(async (request, response) => {
    const body = await bodyText(request);
    const named = /.*\[\[bad: (\w+)\]\]/s.exec(body)?.[1];
    const act = hostileActs.find((known) => known === named) ?? "slow";
    if (act !== "hang") response.writeHead(200, { "content-type": "text/event-stream" });
    await acts[act](response, askedIn(body));
  });
  const mcp = new McpServer();
  return {
    modelUrl: `${model.origin}/v1`,
    mcp,
    silence: () => {
      mcp.settings.intercept = () => new Promise(() => {});
    },
    [Symbol.asyncDispose]: async () => {
      model.stop();
      await mcp.stop();
    },
  };
}

function askedIn(body: string): Asked {
  try {
    const { messages } = JSON.parse(body) as { messages: { role: string; content: unknown }[] };
    const said = messages.findLast(({ role }) => role === "user")?.content;
    return { text: JSON.stringify(said ?? ""), afterTool: messages.at(-1)?.role === "tool" };
  } catch {
    return { text: "", afterTool: false };
  }
}
