import { describe, expect, test } from "bun:test";
import type { ModelMessage } from "ai";
import { callTool, toolsOfTurn } from "../../harness/mcp-turn.ts";
import { useRawMcp } from "../../harness/raw-mcp-fixture.ts";
import { body, events, rpc, type SentMessage } from "../../servers/raw-mcp.ts";

/** What servers were seen to send, in the field. */
const scene = await useRawMcp();
const { h, t } = scene;

const path = "/v1/mcp-connections";
const create = () => t.call("POST", path, { body: { name: "c", url: scene.mcp.url, authType: "none" } });

async function made(): Promise<string> {
  const response = await create();
  expect([response.status, response.body]).toEqual([201, response.body]);
  return response.body.id;
}

/** Creates a connection and calls its one tool. */
async function call() {
  const id = await made();
  const { tools } = await toolsOfTurn(scene.ctx, t.id, [id]);
  const told = await callTool(tools, "c__look");
  return { ...told, status: (await t.call("GET", `${path}/${id}`)).body.status };
}

const schema = { type: "object", properties: { at: { type: "string" } } };
const good = { name: "look", inputSchema: schema };

describe("one tool of a list", () => {
  const costsNothing: [string, object][] = [
    ["every hint null", nulls("title", "description", "annotations", "outputSchema", "_meta", "icons", "execution")],
    ["hints of wrong types", { title: 7, annotations: "none", outputSchema: [], _meta: 1, icons: {}, execution: true }],
    ["an output schema without a type", { outputSchema: { anyOf: [{ type: "object" }, { type: "null" }] } }],
    ["a priority and hints beyond their range", { annotations: { readOnlyHint: "yes", priority: 17, audience: null } }],
    ["a description as a list", { description: ["Looks", "around."] }],
    ["no input schema", { inputSchema: undefined }],
    ["an input schema that is null", { inputSchema: null }],
    ["one that is true", { inputSchema: true }],
    ["one that is empty", { inputSchema: {} }],
    ["one without a type", { inputSchema: { properties: {} } }],
    ["one with a union and no type", { inputSchema: { anyOf: [schema, schema] } }],
    ["a type that is a list", { inputSchema: { type: ["object", "null"] } }],
    ["required: null, properties as PHP writes none", { inputSchema: { ...schema, required: null, properties: [] } }],
  ];
  for (const [what, fields] of costsNothing)
    test(`costs nothing for ${what}`, async () => {
      scene.mcp.answers["tools/list"] = { tools: [{ ...good, ...fields }], nextCursor: null, _meta: null };
      const { status, body: shown } = await create();
      expect([status, shown.leftOut]).toEqual([201, []]);
      const { tools } = await toolsOfTurn(scene.ctx, t.id, [shown.id]);
      expect(tools.map(({ name, readOnly }) => [name, readOnly])).toEqual([["c__look", false]]);
      const offered = tools[0]?.tool.inputSchema as { jsonSchema: Record<string, unknown> };
      expect(offered.jsonSchema.type).toBe("object");
      for (const keyword of Object.values(offered.jsonSchema)) expect(keyword).not.toBeNull();
      expect(Array.isArray(offered.jsonSchema.properties)).toBe(false);
    });

  test("costs that tool: creation, test and reconnect name it, one without a readable name by its place", async () => {
    const odd: [unknown, string, string][] = [
      [null, "#2", "object"],
      ["look", "#3", "object"],
      [{ name: null, inputSchema: schema }, "#4", "name"],
      [{ name: 7, inputSchema: schema }, "#5", "name"],
      [{ name: "", inputSchema: schema }, "#6", "name"],
      [{ name: "list", inputSchema: [] }, "list", "inputSchema"],
      [{ name: "text", inputSchema: "{}" }, "text", "inputSchema"],
      [{ name: "no", inputSchema: false }, "no", "inputSchema"],
      [{ name: "array", inputSchema: { type: "array" } }, "array", "inputSchema.type"],
      [{ ...good, description: "again" }, "look", "same name"],
      [{ name: "x".repeat(300), inputSchema: schema }, "x".repeat(256), "characters"],
    ];
    const strange = { name: "files/read.v2 – ñ 名", inputSchema: schema };
    scene.mcp.answers["tools/list"] = { tools: [good, ...odd.map(([row]) => row), strange] };
    const created = await create();
    expect(created.status).toBe(201);
    const target = { url: scene.mcp.url, authType: "none" };
    const tested = await t.call("POST", `${path}/${created.body.id}/test`);
    const again = await t.call("POST", `${path}/${created.body.id}/reconnect`, { body: target });
    for (const { leftOut } of [created.body, tested.body, again.body]) {
      expect(leftOut.map(({ name }: { name: string }) => name)).toEqual(odd.map(([, name]) => name));
      for (const [index, [, , word]] of odd.entries()) expect(leftOut[index].reason).toContain(word);
    }
    expect([tested.body.toolCount, tested.body.toolNames]).toEqual([2, ["look", strange.name]]);
    expect((await t.call("GET", `${path}/${created.body.id}`)).body.leftOut).toBeUndefined();
  });
});

describe("a list", () => {
  test("whose cursor never ends, or does not advance, is read once", async () => {
    scene.mcp.answers["tools/list"] = ({ params }) => ({ tools: [good], nextCursor: `${params.cursor ?? ""}x` });
    expect((await create()).body.leftOut).toEqual([]);
    expect(scene.mcp.sent("tools/list")).toHaveLength(2);
    scene.mcp.answers["tools/list"] = { tools: [good, good], nextCursor: "same" };
    await h.sql`delete from mcp_connections where tenant_id = ${t.id}`;
    expect((await create()).body.leftOut).toHaveLength(1);
    expect(scene.mcp.sent("tools/list")).toHaveLength(4);
  });

  test("that is longer than is read says where it was cut", async () => {
    const rows = (count: number) => Array.from({ length: count }, (_, index) => ({ ...good, name: `t${index}` }));
    scene.mcp.answers["tools/list"] = { tools: rows(600) };
    const { body: shown } = await create();
    expect(shown.leftOut).toEqual([{ name: "#513", reason: expect.stringContaining("more than 512 tools") }]);
  });

  test("of which a further page cannot be read has the pages before it", async () => {
    scene.mcp.answers["tools/list"] = ({ params }) =>
      params.cursor ? { tools: 7 } : { tools: [good], nextCursor: "2" };
    const { status, body: shown } = await create();
    expect([status, shown.leftOut]).toEqual([201, [{ name: "#2", reason: expect.stringContaining("`result.tools`") }]]);
  });

  for (const [what, answer] of [
    ["tools: null", { tools: null }],
    ["no tools at all", {}],
  ] as const)
    test(`with ${what} is empty`, async () => {
      scene.mcp.answers["tools/list"] = answer;
      expect((await create()).body.leftOut).toEqual([]);
    });

  test("of a server that does not say that it has tools is read where there is one", async () => {
    scene.mcp.answers.initialize = { protocolVersion: "2025-06-18", capabilities: { resources: {} } };
    expect((await t.call("POST", `${path}/${await made()}/test`)).body.toolNames).toEqual(["look"]);
    scene.mcp.answers["tools/list"] = () => body("no", "text/plain", 404);
    await h.sql`delete from mcp_connections where tenant_id = ${t.id}`;
    expect((await t.call("POST", `${path}/${await made()}/test`)).body.toolNames).toEqual([]);
  });
});

describe("a result", () => {
  const text = (fields: object = {}) => ({ type: "text", text: "sent", ...fields });
  const shown: [string, object, string][] = [
    ["null annotations", { content: [text({ annotations: null })] }, "sent"],
    ["null _meta of block and result", { content: [text({ _meta: null })], _meta: null }, "sent"],
    ["isError: null", { content: [text()], isError: null }, "sent"],
    ["structuredContent: null", { content: [text()], structuredContent: null }, "sent"],
    ["structuredContent that is a list", { content: [text()], structuredContent: [1] }, "sent"],
    ["a priority beyond its range", { content: [text({ annotations: { priority: 9 } })] }, "sent"],
    ["an unknown block", { content: [text(), { type: "json", json: {} }] }, "sent\n[json, not shown]"],
    ["an image without its type", { content: [text(), { type: "image", data: "AAAA" }] }, "sent\n[image, not shown]"],
    ["a text that is null", { content: [{ type: "text", text: null }, text()] }, "[text, not shown]\nsent"],
    ["a block that is null", { content: [null, text()] }, "[a block without a type, not shown]\nsent"],
    [
      "a resource without anything",
      { content: [text(), { type: "resource", resource: { uri: "file:///a", text: null } }] },
      "sent\n[resource, not shown]",
    ],
    ["a link without a name", { content: [{ type: "resource_link", uri: "file:///a" }] }, "[file:///a](file:///a)"],
    ["structuredContent alone", { structuredContent: { rows: 3 } }, '{"rows":3}'],
    ["content: null beside it", { content: null, structuredContent: { rows: 3 } }, '{"rows":3}'],
    ["a result of 2024", { toolResult: "sent" }, "sent"],
    ["no content at all", {}, ""],
  ];
  for (const [what, result, expected] of shown)
    test(`with ${what} is shown`, async () => {
      scene.mcp.answers["tools/call"] = result;
      expect(await call()).toMatchObject({ text: expected, failed: false, status: "connected" });
    });

  test("with a picture as a data URL has the picture", async () => {
    const png = Buffer.from("\x89PNG\r\n\x1a\n0000", "latin1");
    const data = `data:image/png;base64,${png.toString("base64")}`;
    scene.mcp.answers["tools/call"] = { content: [{ type: "image", mimeType: "image/png", data }] };
    const { output } = await call();
    expect(output).toMatchObject({ files: [{ mediaType: "image/png", data: png.toString("base64") }] });
  });

  const unreadable: [string, (message: SentMessage) => Response, string][] = [
    ["null", (message) => rpc(message, { result: null }), "`result`"],
    ["a text", (message) => rpc(message, { result: "done" }), "`result`"],
    ["a list", (message) => rpc(message, { result: [] }), "`result`"],
    ["content that is a text", (message) => rpc(message, { result: { content: "done" } }), "`result.content`"],
    ["neither result nor error", (message) => rpc(message, {}), "neither `result` nor `error`"],
    ["no JSON", () => body("{"), "no JSON"],
    ["a web page", () => body("<html>", "text/html"), "web page"],
    ["nothing", () => body("", null), "empty"],
    ["an empty 202", () => body("", null, 202), "empty (HTTP 202)"],
    ["a stream with a comment alone", () => body(": hi\n\n", "text/event-stream"), "ended without a response"],
    [
      "a stream with a notice alone",
      () => body('data: {"jsonrpc":"2.0","method":"notifications/message"}\n\n', "text/event-stream"),
      "ended without a response",
    ],
  ];
  for (const [what, answer, word] of unreadable)
    test(`of ${what} is told as one that ran, and the connection stays`, async () => {
      scene.mcp.answers["tools/call"] = answer;
      const told = await call();
      expect(told).toMatchObject({ failed: true, status: "connected" });
      expect(told.text).toStartWith("The tool ran, but its result cannot be read. Do not call it again");
      for (const part of ["`tools/call`", word]) expect(told.text).toContain(part);
      expect(scene.mcp.sent("tools/call")).toHaveLength(1);
    });

  const errors: [string, (message: SentMessage) => Response, string][] = [
    ["a code that is a text", (message) => rpc(message, { error: { code: "E1", message: "No paper." } }), "No paper."],
    ["no message", (message) => rpc(message, { error: { code: -32_000 } }), "gave no reason"],
    ["nothing in it", (message) => rpc(message, { error: {} }), "gave no reason"],
    ["a text in its place", (message) => rpc(message, { error: "No paper." }), "No paper."],
    ["the code of a closed connection", (m) => rpc(m, { error: { code: -32_000, message: "No paper." } }), "No paper."],
    ["no id", (message) => rpc({ ...message, id: null as never }, { error: { message: "No paper." } }), "No paper."],
    [
      "status 500",
      ({ id }) => body(JSON.stringify({ id, error: { code: -32_603, message: "No paper." } }), undefined, 500),
      "No paper.",
    ],
    [
      "status 400",
      ({ id }) => body(JSON.stringify({ id, error: { code: -32_602, message: "No paper." } }), undefined, 400),
      "No paper.",
    ],
    [
      "no id in a stream",
      (message) =>
        events({ ...message, id: null as never }, { error: { message: "No paper." } }, (j) => `data: ${j}\n\n`),
      "No paper.",
    ],
  ];
  for (const [what, answer, word] of errors)
    test(`that is an error with ${what} is told as a failed call, and the connection stays`, async () => {
      scene.mcp.answers["tools/call"] = answer;
      const told = await call();
      expect(told).toMatchObject({ failed: true, status: "connected" });
      expect(told.text).toContain(word);
    });

  const result = { result: { content: [{ type: "text", text: "sent" }] } };
  const framed: [string, (message: SentMessage) => Response][] = [
    ['"error": null beside it', (message) => rpc(message, { ...result, error: null })],
    ["its id as a text", (message) => rpc({ ...message, id: String(message.id) }, result)],
    ["no id, and no version", () => body(JSON.stringify(result))],
    ["text/plain", ({ id }) => body(JSON.stringify({ jsonrpc: "2.0", id, ...result }), "text/plain")],
    ["no media type", ({ id }) => body(JSON.stringify({ jsonrpc: "2.0", id, ...result }), null)],
    ["status 202", ({ id }) => body(JSON.stringify({ jsonrpc: "2.0", id, ...result }), undefined, 202)],
    ["a byte order mark", ({ id }) => body(`\ufeff${JSON.stringify({ jsonrpc: "2.0", id, ...result })}`)],
    ["a batch", ({ id }) => body(JSON.stringify([{ method: "notifications/message" }, { id, ...result }]))],
    ["events with CRLF", (m) => events(m, result, (json) => `event: message\r\ndata: ${json}\r\n\r\n`)],
    ["events with CR", (m) => events(m, result, (json) => `data: ${json}\r\r`)],
    ["a mark and a comment before the event", (m) => events(m, result, (json) => `\ufeff: hi\n\ndata:${json}\n\n`)],
    [
      "pings and junk around the event",
      (m) => events(m, result, (json) => `event: ping\ndata: {}\n\ndata: hi\n\ndata:\n\ndata: ${json}\n\n`),
    ],
    ["an event of another name", (m) => events(m, result, (json) => `event: response\ndata: ${json}\n\n`)],
    [
      "an event in several lines",
      (m) => events(m, result, (json) => `${json.replace(",", ",\n").replaceAll(/^/gm, "data: ")}\n\n`),
    ],
    ["events sent as JSON", ({ id }) => body(`event: message\ndata: ${JSON.stringify({ id, ...result })}\n\n`)],
    [
      "events with a charset",
      ({ id }) => body(`data: ${JSON.stringify({ id, ...result })}\n\n`, "text/event-stream; charset=utf-8"),
    ],
  ];
  for (const [what, answer] of framed)
    test(`with ${what} is read`, async () => {
      scene.mcp.answers["tools/call"] = answer;
      expect(await call()).toMatchObject({ text: "sent", failed: false, status: "connected" });
    });
});

describe("a handshake", () => {
  const fine: [string, object | (() => Response)][] = [
    ["without a version of the server", { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "x" } }],
    [
      "with nulls",
      { protocolVersion: "2024-11-05", capabilities: null, serverInfo: null, instructions: null, _meta: null },
    ],
    [
      "with fields of wrong types",
      { protocolVersion: "2025-03-26", capabilities: { tools: true }, serverInfo: "x", instructions: 7 },
    ],
  ];
  for (const [what, answer] of fine)
    test(`${what} connects`, async () => {
      scene.mcp.answers.initialize = answer;
      const tested = await t.call("POST", `${path}/${await made()}/test`);
      expect(tested.body).toMatchObject({ ok: true, toolNames: ["look"] });
    });

  for (const status of [200, 204, 400, 404, 500])
    test(`whose notice that it is done is answered ${status} connects`, async () => {
      scene.mcp.answers["notifications/initialized"] = () => body(status === 204 ? "" : "null", undefined, status);
      expect((await create()).status).toBe(201);
    });

  const refused: [string, object | (() => Response), readonly string[]][] = [
    ["without a revision", { capabilities: {} }, ["`initialize`", "`protocolVersion` is missing"]],
    ["with a revision that is a number", { protocolVersion: 1 }, ["`initialize`", "`protocolVersion` is no text"]],
    ["with one that nobody knows", { protocolVersion: "1.0" }, ["`initialize`", "`protocolVersion` names a revision"]],
    ["that is a web page", () => body("<html>", "text/html"), ["`initialize`", "web page"]],
  ];
  for (const [what, answer, words] of refused)
    test(`400 mcp_connection_discovery_failed: ${what}, refused by the name of server and field`, async () => {
      scene.mcp.answers.initialize = answer as never;
      const { status, body: told } = await create();
      expect([status, told.error.code]).toEqual([400, "mcp_connection_discovery_failed"]);
      for (const word of ["The MCP server's answer", ...words]) expect(told.error.message).toContain(word);
    });

  test("that asks for a list and gets something else names the list", async () => {
    scene.mcp.answers["tools/list"] = { tools: "secret" };
    const { body: told } = await create();
    expect(told.error.message).toContain("The MCP server's answer to `tools/list` cannot be read: `result.tools`");
    expect(told.error.message).not.toContain("secret");
  });
});

describe("a server", () => {
  test("that sends the client on to the same address with a slash is followed there", async () => {
    scene.mcp.other = (request) =>
      new URL(request.url).pathname === "/mcp"
        ? new Response(null, { status: 307, headers: { location: "/mcp/" } })
        : null;
    expect(await call()).toMatchObject({ text: "done", status: "connected" });
  });

  test("that writes Latin-1 costs the characters, and no more", async () => {
    scene.mcp.answers["tools/call"] = ({ id }) => {
      const json = JSON.stringify({ id, result: { content: [{ type: "text", text: "caf\u00e9" }] } });
      return new Response(Buffer.from(json, "latin1"), { headers: { "content-type": "application/json" } });
    };
    expect(await call()).toMatchObject({ text: "caf\ufffd", failed: false });
  });

  for (const challenge of ['Bearer resource_metadata="none", scope=', "Bearer", "Basic realm=", "Bearer error=7"])
    test(`whose refusal says ${challenge} is refused as one`, async () => {
      scene.mcp.other = () => new Response("no", { status: 401, headers: { "www-authenticate": challenge } });
      const target = { authType: "oauth_client_credentials", clientId: "id", clientSecret: "secret" };
      const { status, body: told } = await t.call("POST", path, { body: { name: "c", url: scene.mcp.url, ...target } });
      expect([status, told.error.message]).toEqual([400, expect.stringMatching(/authorization server/)]);
    });
});

describe("the key of a call", () => {
  const asked = { role: "user", content: "go" } satisfies ModelMessage;
  const step = (toolCallId: string, input: object): ModelMessage[] => [
    { role: "assistant", content: [{ type: "tool-call", toolCallId, toolName: "c__look", input }] },
    {
      role: "tool",
      content: [{ type: "tool-result", toolCallId, toolName: "c__look", output: { type: "text", value: "x" } }],
    },
  ];
  const keys = () => scene.mcp.sent("tools/call").map(({ params }) => params._meta?.["parley/idempotencyKey"]);

  test("is that of an earlier call while nobody knows what came of that one, and a new one once its answer was read", async () => {
    const { tools } = await toolsOfTurn(scene.ctx, t.id, [await made()]);
    const input = { at: "home" };
    scene.mcp.answers["tools/call"] = { content: 7 };
    await callTool(tools, "c__look", { input, messages: [asked] });
    scene.mcp.answers = {};
    const second = [asked, ...step("call-1", input)];
    await callTool(tools, "c__look", { input, messages: second });
    const third = [...second, ...step("call-1", input)];
    await callTool(tools, "c__look", { input, messages: third });
    await callTool(tools, "c__look", { input: { at: "work" }, toolCallId: "call-2", messages: third });
    const [first, repeated, anew, other] = keys();
    expect(repeated).toBe(first);
    expect(new Set([first, anew, other]).size).toBe(3);
    // The turn runs again: what it did then is done under the same keys.
    const again = await toolsOfTurn(scene.ctx, t.id, [(await t.call("GET", path)).body.mcpConnections[0].id]);
    await callTool(again.tools, "c__look", { input, messages: [asked], toolCallId: "call-9" });
    expect(keys().at(-1)).toBe(first);
  });

  test("tells two calls of one step apart", async () => {
    const { tools } = await toolsOfTurn(scene.ctx, t.id, [await made()]);
    const calls = ["a", "b"].map((toolCallId) => callTool(tools, "c__look", { toolCallId, messages: [asked] }));
    await Promise.all(calls);
    expect(new Set(keys()).size).toBe(2);
  });
});

function nulls(...names: string[]): object {
  return Object.fromEntries(names.map((name) => [name, null]));
}
