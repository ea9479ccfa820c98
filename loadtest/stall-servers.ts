/** Servers of a stranger, which say what the worst inputs need. */
import { bodyText, startLoopback } from "../test/servers/loopback.ts";

const json = { "content-type": "application/json" };

/** What a stranger's server says to a request, as JSON or as another type. */
export type Says = (body: Readonly<Record<string, unknown>>, path: string) => { text: string; type?: string } | null;

/** Starts one; returns its origin. */
export async function startStranger(opened: AsyncDisposableStack, says: Says): Promise<string> {
  const server = await startLoopback(async (request, response) => {
    const text = await bodyText(request);
    const body = text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : {};
    const said = says(body, request.url ?? "/");
    if (said === null) response.writeHead(405).end();
    else response.writeHead(200, { ...json, ...(said.type && { "content-type": said.type }) }).end(said.text);
  });
  opened.defer(() => server.stop());
  return server.origin;
}

const event = (fields: object) =>
  `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", ...fields })}\n\n`;
const delta = (fields: object, reason: string | null = null) =>
  event({ choices: [{ index: 0, delta: fields, finish_reason: reason }] });

/** An answer of a model as a stream of these deltas. */
export function streamOf(deltas: readonly object[], reason = "stop"): { text: string; type: string } {
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const text = `${deltas.map((fields) => delta(fields)).join("")}${delta({}, reason)}${event({ choices: [], usage })}data: [DONE]\n\n`;
  return { text, type: "text/event-stream" };
}

/** An answer that says this text. */
export const saying = (content: string) => streamOf([{ content }]);

/** A call of a tool whose input comes in pieces. */
export function calling(name: string, pieces: readonly string[]): { text: string; type: string } {
  const [first = "", ...rest] = pieces.map((text) => text);
  const begin = { tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name, arguments: first } }] };
  const further = rest.map((text) => ({ tool_calls: [{ index: 0, function: { arguments: text } }] }));
  return streamOf([begin, ...further], "tool_calls");
}

/** What an MCP server says that has the results of two methods as text; the list and the calls. */
export function mcpSays({ list, result = "{}" }: { list: () => string; result?: string }): Says {
  return ({ id, method }) => {
    if (method === undefined) return null;
    const reply = (value: string) => ({ text: `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${value}}` });
    switch (method) {
      case "initialize": {
        const serverInfo = { name: "stranger", version: "1" };
        return reply(JSON.stringify({ protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo }));
      }
      case "tools/list":
        return reply(list());
      case "tools/call":
        return reply(result);
      default:
        return id === undefined
          ? { text: "" }
          : { text: JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }) };
    }
  };
}
