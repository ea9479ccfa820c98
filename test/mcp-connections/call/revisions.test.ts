import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { useAgent } from "../../harness/fixture.ts";
import { eventually } from "../../harness/harness.ts";
import { makeAgent } from "../../harness/seed.ts";
import { McpServer, textTool } from "../../servers/mcp.ts";
import { type StatelessMcpServer, startStatelessMcp } from "../../servers/stateless-mcp.ts";

const { h, t } = await useAgent({ worker: true });
const path = "/v1/mcp-connections";
let names = 0;

async function connect(url: string): Promise<string> {
  names += 1;
  const { status, body } = await t.call("POST", path, { body: { name: `c${names}`, url, authType: "none" } });
  expect([status, body]).toEqual([201, body]);
  return body.id;
}

/** What the model got for a call of a tool. */
async function callEcho(connectionId: string, args: object): Promise<string> {
  const agentId = await makeAgent(h, t, { mcpConnectionIds: [connectionId] });
  const text = `[[sim: tool=c${names}__echo args=${JSON.stringify(args)}; text="Done."]]`;
  const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
  const { body } = await t.call("POST", `/v1/agents/${agentId}/sessions`, { body: { message, stream: false } });
  const part = body.message.parts.find(
    ({ type }: { type: string }) => type.startsWith("tool-") || type === "dynamic-tool",
  );
  return part?.output ?? part?.errorText;
}

async function keptRevision(id: string): Promise<string | null> {
  const [row] = await h.sql`select protocol_version from mcp_connections where id = ${id}`;
  return row?.protocolVersion;
}

describe("a server without sessions (2026-07-28)", () => {
  let server: StatelessMcpServer;
  beforeEach(() => {
    server = startStatelessMcp();
  });
  afterEach(() => server.stop());

  test("is asked for its revision and called, with the arguments that it wants as headers; the revision is kept", async () => {
    const id = await connect(server.url);
    expect(await callEcho(id, { region: "eu" })).toBe('{"region":"eu"}');
    const call = server.requests.find(({ method }) => method === "tools/call");
    expect(call?.headers.get("mcp-protocol-version")).toBe("2026-07-28");
    expect(call?.headers.get("mcp-param-region")).toBe("eu");
    expect(call?.headers.has("mcp-session-id")).toBe(false);
    expect(server.requests.map(({ method }) => method)).not.toContain("initialize");
    await eventually(async () => (await keptRevision(id)) === "2026-07-28");
  });

  test("in place of one with sessions, which is known, is found out", async () => {
    const old = new McpServer();
    const id = await connect(old.url);
    await callEcho(id, {});
    await eventually(async () => (await keptRevision(id)) === "2025-11-25");
    await old.stop();
    await server.stop();
    server = startStatelessMcp(old.port);
    await t.call("POST", `${path}/${id}/test`);
    const { body } = await t.call("POST", `${path}/${id}/test`);
    expect(body).toMatchObject({ ok: true, server: { name: "stateless" } });
    expect(await callEcho(id, { region: "us" })).toBe('{"region":"us"}');
  });
});

describe("a server with sessions", () => {
  let server: McpServer;
  beforeEach(() => {
    server = new McpServer();
  });
  afterEach(() => server.stop());

  test("that is known to have them is not asked again", async () => {
    const id = await connect(server.url);
    await callEcho(id, {});
    await eventually(async () => (await keptRevision(id)) === "2025-11-25");
    const asked = server.count("server/discover");
    expect(asked).toBeGreaterThan(0);
    const begun = server.count("initialize");
    server.forgetSessions();
    await callEcho(id, {});
    expect(server.count("initialize")).toBeGreaterThan(begun);
    expect(server.count("server/discover")).toBe(asked);
  });

  test("whose call leaves its stream open is left as soon as the result is there", async () => {
    let closed = false;
    server.settings.tools = [textTool("echo")];
    server.settings.intercept = async (request) => {
      if (request.method !== "POST") return null;
      const message = (await request.clone().json()) as { id?: number; method?: string };
      if (message.method !== "tools/call") return null;
      const result = { content: [{ type: "text", text: "said" }] };
      const event = `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id: message.id, result })}\n\n`;
      const body = new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode(event)),
        cancel: () => {
          closed = true;
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    };
    expect(await callEcho(await connect(server.url), {})).toBe("said");
    await eventually(() => closed);
  });

  test("that asks a person something is told at once that this client does not", async () => {
    const answers: unknown[] = [];
    let finish = (_text: string) => {};
    server.settings.intercept = async (request) => {
      if (request.method !== "POST") return null;
      const message = (await request.clone().json()) as { id?: unknown; method?: string; error?: unknown };
      if (message.id === "ask-1") {
        answers.push(message.error);
        finish("nobody answered");
        return new Response(null, { status: 202 });
      }
      if (message.method !== "tools/call") return null;
      const ask = {
        jsonrpc: "2.0",
        id: "ask-1",
        method: "elicitation/create",
        params: { message: "Sure?", requestedSchema: { type: "object", properties: {} } },
      };
      const encoder = new TextEncoder();
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(encoder.encode(`data: ${JSON.stringify(ask)}\n\n`));
          finish = (text) => {
            const result = { content: [{ type: "text", text }] };
            controller.enqueue(
              encoder.encode(`data: ${JSON.stringify({ jsonrpc: "2.0", id: message.id, result })}\n\n`),
            );
            controller.close();
          };
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    };
    expect(await callEcho(await connect(server.url), {})).toBe("nobody answered");
    expect(answers).toEqual([expect.objectContaining({ code: -32601 })]);
  });
});
