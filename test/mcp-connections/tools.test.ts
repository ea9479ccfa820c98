import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ToolExecutionOptions } from "ai";
import type { Ctx } from "../../src/kernel/context.ts";
import { sessionPoolOf } from "../../src/mcp-connections/call/pool.ts";
import { findMcpTool } from "../../src/mcp-connections/find-tool.ts";
import {
  resultBytesMax,
  toolListBytesMax,
  toolListsBytesMax,
  toolsAtStartMs,
} from "../../src/mcp-connections/limits.ts";
import { mcpTools, type ToolAttachment } from "../../src/mcp-connections/tools.ts";
import type { TurnTool } from "../../src/tools/tool.ts";
import { eventually } from "../harness/harness.ts";
import { useMcp } from "../harness/mcp-fixture.ts";
import { McpServer, type ServerCall, textResult, textTool } from "../servers/mcp.ts";

/** A process of this test's own: no session of another test is in it. */
let ctx: Ctx;

const scene = await useMcp();
const { h } = scene;
beforeEach(() => {
  ctx = { ...h.ctx };
});
afterEach(() => sessionPoolOf(ctx).close());

const connect = (name: string, fields: Record<string, unknown> = {}) => scene.made({ name, ...fields });

function attached(mcpConnectionId: string, fields: Partial<ToolAttachment> = {}): ToolAttachment {
  return { mcpConnectionId, forwardUserId: false, forwardedMetadataKeys: [], ...fields };
}

/** The tools of one turn. */
function turn(attachments: readonly ToolAttachment[], metadata: Record<string, unknown> = {}) {
  const scope = {
    ctx,
    tenantId: scene.t.id,
    agentId: "ag_1",
    sessionId: "ss_1",
    turnId: "turn_1",
    userId: "user-1",
    metadata,
    workspaceId: null,
  };
  return mcpTools(scope as never, attachments);
}

function run(
  tools: readonly TurnTool[],
  name: string,
  input: unknown = {},
  signal?: AbortSignal,
  toolCallId = "call-1",
): Promise<unknown> {
  const found = tools.find((tool) => tool.name === name);
  if (found?.tool.execute === undefined) throw new Error(`no tool ${name} among ${tools.map((tool) => tool.name)}`);
  const options = { toolCallId, messages: [], ...(signal === undefined ? {} : { abortSignal: signal }) };
  return found.tool.execute(input, options as unknown as ToolExecutionOptions<never>) as Promise<unknown>;
}

function failure(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => new Error("It did not fail."),
    (error: Error) => error,
  );
}

const path = "/v1/mcp-connections";

async function statusOf(id: string) {
  const { status, lastAuthErrorCode } = (await scene.t.call("GET", `${path}/${id}`)).body;
  return [status, lastAuthErrorCode];
}

describe("the tools of a turn", () => {
  test("carry the connection's name, the server's schema and its word on what only reads", async () => {
    const id = await connect("my docs");
    const { tools, failures } = await turn([attached(id)]);
    expect(failures).toEqual([]);
    expect(tools.map(({ name, source, readOnly }) => [name, source, readOnly])).toEqual([
      ["my_docs__echo", { kind: "mcp", mcpConnectionId: id, serverTool: "echo" }, true],
      ["my_docs__write", { kind: "mcp", mcpConnectionId: id, serverTool: "write" }, false],
    ]);
    expect(tools[0]?.tool).toMatchObject({
      description: "The tool echo.",
      inputSchema: { jsonSchema: scene.mcp.settings.tools[0]?.inputSchema },
    });
  });

  test("names are cut at 64, and stay apart where that makes two the same, in whatever order they come", async () => {
    const long = "x".repeat(70);
    scene.mcp.settings.tools = [textTool(`${long}1`), textTool(`${long}2`), textTool("a.b"), textTool("a b")];
    const [first, second] = [await connect("one/1"), await connect("one.1")];
    const namesOf = async (ids: string[]) => {
      const { tools } = await turn(ids.map((id) => attached(id)));
      return new Map(tools.map(({ name, source }) => [JSON.stringify(source), name]));
    };
    const names = await namesOf([first, second]);
    expect(new Map([...(await namesOf([second, first]))].sort())).toEqual(new Map([...names].sort()));
    expect(new Set(names.values()).size).toBe(8);
    for (const name of names.values()) expect(name).toMatch(/^one_1__[A-Za-z0-9_-]{1,57}$/);
    expect([...names.values()]).toContain("one_1__a_b");
  });

  test("are called, and return text", async () => {
    const { tools } = await turn([attached(await connect("c"))]);
    expect(await run(tools, "c__echo", { text: "hello" })).toBe('{"text":"hello"}');
    expect(scene.mcp.calls.map(({ name, args, meta }) => [name, args, meta])).toEqual([
      ["echo", { text: "hello" }, { "parley/idempotencyKey": expect.stringMatching(/^[\w-]{43}$/) }],
    ]);
  });

  test("forward what the attachment says and nothing else", async () => {
    const id = await connect("c");
    const metadata = { plan: "pro", secret: "s", nested: { a: 1 } };
    const settings = [
      {},
      { forwardUserId: true },
      { forwardedMetadataKeys: ["plan", "nested", "absent"] },
      { forwardUserId: true, forwardedMetadataKeys: ["plan"] },
    ];
    for (const fields of settings) await run((await turn([attached(id, fields)], metadata)).tools, "c__echo");
    const forwarded = scene.mcp.calls.map(({ meta: { "parley/idempotencyKey": _, ...meta } }) => meta);
    expect(forwarded).toEqual([
      {},
      { "parley/userId": "user-1" },
      { "parley/metadata": { plan: "pro", nested: { a: 1 } } },
      { "parley/userId": "user-1", "parley/metadata": { plan: "pro" } },
    ]);
  });

  test("a result over 256 KiB is cut, and says so; one of 256 KiB is whole", async () => {
    const { tools } = await turn([attached(await connect("c"))]);
    scene.mcp.settings.onCall = () => textResult("é".repeat(resultBytesMax / 2));
    expect((await run(tools, "c__echo")) as string).toHaveLength(resultBytesMax / 2);
    scene.mcp.settings.onCall = () => textResult(`${"é".repeat(resultBytesMax / 2)}x`);
    const cut = (await run(tools, "c__echo")) as string;
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(resultBytesMax);
    expect(cut).toContain("The result is cut");
    expect(cut.isWellFormed() && !cut.includes("\uFFFD")).toBe(true);
  });

  test("isError and protocol errors are told to the model; the connection stays connected", async () => {
    const id = await connect("c");
    const { tools } = await turn([attached(id)]);
    scene.mcp.settings.onCall = () => textResult("No such file.", true);
    expect((await failure(run(tools, "c__echo"))).message).toBe("No such file.");
    scene.mcp.settings.onCall = () => {
      throw new Error("It broke inside.");
    };
    expect((await failure(run(tools, "c__echo"))).message).toContain("It broke inside.");
    expect(await statusOf(id)).toEqual(["connected", null]);
  });

  test("a call that is aborted ends at once, and the server is told", async () => {
    const { tools } = await turn([attached(await connect("c"))]);
    let arrive = (_call: ServerCall) => {};
    const arrived = new Promise<ServerCall>((resolve) => {
      arrive = resolve;
    });
    scene.mcp.settings.onCall = (call) => {
      arrive(call);
      return new Promise(() => {});
    };
    const stop = new AbortController();
    const failed = failure(run(tools, "c__echo", {}, stop.signal));
    const { signal } = await arrived;
    stop.abort(new Error("enough"));
    expect((await failed).message).toBe("enough");
    await eventually(() => signal.aborted);
  });

  test("an abort after a call has ended tells the server nothing", async () => {
    const { tools } = await turn([attached(await connect("c"))]);
    const stop = new AbortController();
    await run(tools, "c__echo", {}, stop.signal);
    stop.abort();
    await run(tools, "c__echo");
    expect(scene.mcp.count("notifications/cancelled")).toBe(0);
  });

  test("mcp_connection_unreachable: a server goes away during a call; told at once, and the status is error", async () => {
    const id = await connect("c");
    const { tools } = await turn([attached(id)]);
    scene.mcp.settings.onCall = () => new Promise(() => void scene.mcp.stop());
    expect((await failure(run(tools, "c__echo"))).message).toMatch(/closed the connection|cannot be reached/);
    expect(await statusOf(id)).toEqual(["error", "mcp_connection_unreachable"]);
  });

  test("mcp_connection_authentication_failed: a token is refused later; the status is needs_auth", async () => {
    scene.mcp.settings.accepts = (token) => token === "secret-token-1234";
    const id = await connect("c", { authType: "bearer", bearerToken: "secret-token-1234" });
    const { tools } = await turn([attached(id)]);
    scene.mcp.settings.accepts = () => false;
    expect((await failure(run(tools, "c__echo"))).message).toContain("refused the credentials");
    expect(await statusOf(id)).toEqual(["needs_auth", "mcp_connection_authentication_failed"]);
  });
});

describe("servers that cannot be used at the start of a turn", () => {
  test("cost their own tools only, within the limit, all at the same time", async () => {
    const good = await connect("good");
    const gone = await connect("gone");
    await h.sql`update mcp_connections set url = 'http://127.0.0.1:9/mcp' where id = ${gone}`;
    const hanging = new McpServer();
    hanging.settings.intercept = () => new Promise<Response>(() => {});
    const slow = [await connect("slow1"), await connect("slow2")];
    await h.sql`update mcp_connections set url = ${hanging.url} where id = any(${slow})`;
    const missing = `mcp_${"0".repeat(24)}`;
    const startedAt = Date.now();
    const { tools, failures } = await turn([...slow, gone, missing, good].map((id) => attached(id)));
    expect(Date.now() - startedAt).toBeLessThan(2 * toolsAtStartMs);
    expect(tools.map(({ name }) => name)).toEqual(["good__echo", "good__write"]);
    expect(new Map(failures.map(({ mcpConnectionId, code }) => [mcpConnectionId, code]))).toEqual(
      new Map([
        [missing, "not_found"],
        [gone, "mcp_connection_unreachable"],
        ...slow.map((id) => [id, "mcp_connection_unreachable"] as [string, string]),
      ]),
    );
    for (const id of [gone, ...slow]) expect((await statusOf(id))[0]).toBe("error");
    await hanging.stop();
  });

  test("are asked again by the next turn", async () => {
    const id = await connect("c");
    scene.mcp.settings.intercept = () => new Response("later", { status: 503 });
    expect((await turn([attached(id)])).failures).toHaveLength(1);
    scene.mcp.settings.intercept = null;
    expect((await turn([attached(id)])).tools).toHaveLength(2);
  });
});

describe("sessions between turns", () => {
  test("are reused, and so is the tool list", async () => {
    const id = await connect("c");
    const before = scene.mcp.count("initialize");
    for (let turns = 0; turns < 3; turns++) await run((await turn([attached(id)])).tools, "c__echo");
    expect([scene.mcp.count("initialize") - before, scene.mcp.count("tools/call"), sessionPoolOf(ctx).size]).toEqual([
      1, 3, 1,
    ]);
  });

  test("are opened anew when the server has forgotten them: the call is made once", async () => {
    const id = await connect("c");
    const { tools } = await turn([attached(id)]);
    scene.mcp.forgetSessions();
    expect(await run(tools, "c__echo", { text: "again" })).toBe('{"text":"again"}');
    expect([scene.mcp.calls.length, sessionPoolOf(ctx).size]).toEqual([1, 1]);
    scene.mcp.forgetSessions();
    expect((await turn([attached(id)])).tools).toHaveLength(2);
    expect(await statusOf(id)).toEqual(["connected", null]);
  });

  test("are opened anew for a call that is sent again: it carries the same key, and another call another one", async () => {
    const keys: unknown[] = [];
    scene.mcp.settings.intercept = async (request) => {
      if (request.method !== "POST") return null;
      const { method, params } = (await request.clone().json()) as { method: string; params: { _meta?: object } };
      if (method === "tools/call") keys.push((params._meta as Record<string, unknown>)["parley/idempotencyKey"]);
      return null;
    };
    const { tools } = await turn([attached(await connect("c"))]);
    scene.mcp.forgetSessions();
    await run(tools, "c__echo", { text: "sent twice" });
    await run(tools, "c__echo", {}, undefined, "call-2");
    expect(keys).toEqual([keys[0], keys[0], expect.any(String)]);
    expect(keys[2]).not.toBe(keys[0]);
  });

  test("are opened anew when the server was restarted on its port", async () => {
    const id = await connect("c");
    const { tools } = await turn([attached(id)]);
    const { port } = scene.mcp;
    await scene.mcp.stop();
    scene.mcp = new McpServer(port);
    expect(await run(tools, "c__echo", { text: "back" })).toBe('{"text":"back"}');
  });

  test("are opened anew when another process changed the connection", async () => {
    const id = await connect("c");
    await turn([attached(id)]);
    const other = new McpServer();
    other.settings.tools = [textTool("moved")];
    const body = { url: other.url, authType: "none" };
    expect((await scene.t.call("POST", `${path}/${id}/reconnect`, { body })).status).toBe(200);
    const { tools } = await turn([attached(id)]);
    expect(tools.map(({ name }) => name)).toEqual(["c__moved"]);
    expect(sessionPoolOf(ctx).size).toBe(1);
    await other.stop();
  });

  test("end at the server when the process lets go of them", async () => {
    await turn([attached(await connect("c"))]);
    expect(scene.mcp.openSessions).toBeGreaterThan(0);
    sessionPoolOf(ctx).close();
    await eventually(() => scene.mcp.openSessions === 0);
  });

  test("two turns that begin at once share one", async () => {
    const id = await connect("c");
    const before = scene.mcp.count("initialize");
    await Promise.all([turn([attached(id)]), turn([attached(id)]), turn([attached(id)])]);
    expect(scene.mcp.count("initialize") - before).toBe(1);
  });
});

describe("findMcpTool", () => {
  test("knows a tool, sees one that is new, and says no to others", async () => {
    const id = await connect("c");
    expect(await findMcpTool(ctx, scene.t.id, id, "echo")).toBe(true);
    expect(await findMcpTool(ctx, scene.t.id, id, "fresh")).toBe(false);
    scene.mcp.settings.tools = [textTool("fresh")];
    expect(await findMcpTool(ctx, scene.t.id, id, "fresh")).toBe(true);
    expect(await findMcpTool(ctx, (await h.tenant()).id, id, "fresh")).toBe(false);
  });

  test("400 validation_failed, mcp_connection_discovery_failed: a rule on an MCP tool that is none, or whose server is down", async () => {
    const id = await connect("c");
    const rule = (tool: string) => ({
      name: `agent ${tool}`,
      mcpConnectionIds: [id],
      approvalInChat: { default: "manual", overrides: [{ tool, mcpConnectionId: id, mode: "full" }] },
    });
    expect((await scene.t.call("POST", "/v1/agents", { body: rule("echo") })).status).toBe(201);
    const unknown = await scene.t.call("POST", "/v1/agents", { body: rule("absent") });
    expect([unknown.status, unknown.body.error.code]).toEqual([400, "validation_failed"]);
    await scene.mcp.stop();
    const down = await scene.t.call("POST", "/v1/agents", { body: rule("other") });
    expect([down.status, down.body.error.code]).toEqual([400, "mcp_connection_discovery_failed"]);
  });
});

describe("the size of tool lists", () => {
  const mib = 1024 * 1024;
  /** Tools of about so many bytes each, on a page each. */
  const weighty = (count: number, bytes: number) => {
    scene.mcp.settings.pageRows = 1;
    scene.mcp.settings.tools = Array.from({ length: count }, (_, index) =>
      textTool(`tool-${index}`, { description: "x".repeat(bytes) }),
    );
  };

  test("a connection's list is read up to 8 MiB, and the rest is left out", async () => {
    const id = await connect("weighty");
    weighty(7, mib);
    expect((await turn([attached(id)])).tools).toHaveLength(7);
    sessionPoolOf(ctx).close();
    weighty(12, mib);
    const { tools, failures } = await turn([attached(id)]);
    expect(failures).toEqual([]);
    expect(tools).toHaveLength(Math.floor(toolListBytesMax / mib) - 1);
  });

  test("a process keeps 64 MiB of lists, and reads those again that it has forgotten", async () => {
    weighty(7, mib);
    const ids: string[] = [];
    const kept = Math.floor(toolListsBytesMax / (7 * mib));
    for (let index = 0; index <= kept; index++) ids.push(await connect(`c${index}`));
    scene.mcp.methods.length = 0;
    for (const id of ids.slice(0, kept)) await turn([attached(id)]);
    await turn([attached(ids[0] as string)]);
    expect(scene.mcp.count("tools/list")).toBe(7 * kept);
    // One more list, and the least recently used one goes: the second.
    await turn([attached(ids[kept] as string)]);
    await turn([attached(ids[0] as string)]);
    expect(scene.mcp.count("tools/list")).toBe(7 * (kept + 1));
    await turn([attached(ids[1] as string)]);
    expect(scene.mcp.count("tools/list")).toBe(7 * (kept + 2));
  });

  test("a list without an end is read no longer than the turn waits for it", async () => {
    const id = await connect("slow");
    scene.mcp.settings.pageRows = 1;
    scene.mcp.settings.tools = Array.from({ length: 20 }, (_, index) => textTool(`tool-${index}`));
    scene.mcp.settings.intercept = async (request) => {
      const { method } = (await request.clone().json()) as { method?: string };
      if (method === "tools/list") await new Promise((resolve) => setTimeout(resolve, 900));
      return null;
    };
    scene.mcp.methods.length = 0;
    const { tools, failures } = await turn([attached(id)]);
    expect([tools.length, failures.length]).toEqual([0, 1]);
    const asked = scene.mcp.count("tools/list");
    // A ping that comes back shows that the session is alive; no further page was asked for meanwhile.
    scene.mcp.settings.intercept = null;
    expect((await turn([attached(id)])).tools).toHaveLength(20);
    expect(scene.mcp.count("tools/list")).toBeLessThanOrEqual(asked + 20 + 1);
  }, 30_000);
});
