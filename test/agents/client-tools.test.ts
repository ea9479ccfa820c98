import { describe, expect, test } from "bun:test";
import { useTenant } from "../harness/fixture.ts";
import { McpServer, textTool } from "../servers/mcp.ts";

const { t } = await useTenant();

const located = { name: "locate", description: "Where the user is.", inputSchema: { type: "object" } };
const create = (clientTools: unknown, fields: object = {}) =>
  t.call("POST", "/v1/agents", { body: { name: `n-${crypto.randomUUID().slice(0, 8)}`, clientTools, ...fields } });
/** A schema of type object whose JSON has so many bytes. */
function schemaOf(bytes: number) {
  const frame = JSON.stringify({ type: "object", description: "" }).length;
  return { type: "object", description: "x".repeat(bytes - frame) };
}

describe("the client tools of an agent", () => {
  test("are versioned, shown in form B and unknown to form A", async () => {
    expect((await create([])).body.clientTools).toEqual([]);
    const made = await create([located]);
    expect([made.status, made.body.clientTools]).toEqual([201, [located]]);
    const path = `/v1/agents/${made.body.id}`;
    const more = [located, { ...located, name: "A-z_09" }];
    expect((await t.call("PUT", path, { body: { clientTools: more } })).body).toMatchObject({
      version: 2,
      clientTools: more,
    });
    expect((await t.call("GET", `${path}/versions/1`)).body.clientTools).toEqual([located]);
    const inA = await t.call("GET", path, { form: "a" });
    expect(inA.body).not.toHaveProperty("clientTools");
    const refused = await t.call("PUT", path, { form: "a", body: { clientTools: [] } });
    expect(refused.status).toBe(400);
    // What form A does not know it leaves as it was.
    await t.call("PUT", path, { form: "a", body: { instructions: "Short." } });
    expect((await t.call("GET", path)).body.clientTools).toEqual(more);
  });

  test("are at most 50, with names and schemas within their bounds", async () => {
    const many = (count: number) => Array.from({ length: count }, (_, n) => ({ ...located, name: `t${n}` }));
    expect((await create(many(50))).status).toBe(201);
    expect((await create([{ ...located, name: "n".repeat(64) }])).status).toBe(201);
    expect((await create([{ ...located, inputSchema: schemaOf(16 * 1024) }])).status).toBe(201);
    expect((await create([{ ...located, description: "é".repeat(4_096) }])).status).toBe(201);
    const faults: [unknown, string][] = [
      [many(51), "/clientTools"],
      [[{ ...located, name: "n".repeat(65) }], "/clientTools/0/name"],
      [[{ ...located, name: "" }], "/clientTools/0/name"],
      [[{ ...located, name: "a b" }], "/clientTools/0/name"],
      [[{ ...located, name: "naïve" }], "/clientTools/0/name"],
      [[{ ...located, name: "bash" }], "/clientTools/0/name"],
      [[{ ...located, name: "activate_skill" }], "/clientTools/0/name"],
      [[located, located], "/clientTools/1/name"],
      [[{ ...located, description: "x".repeat(4_097) }], "/clientTools/0/description"],
      [[{ name: "locate", description: "" }], "/clientTools/0/inputSchema"],
      [[{ name: "locate", inputSchema: { type: "object" } }], "/clientTools/0/description"],
      [[{ ...located, more: 1 }], "/clientTools/0/more"],
      [[{ ...located, inputSchema: {} }], "/clientTools/0/inputSchema/type"],
      [[{ ...located, inputSchema: { type: "string" } }], "/clientTools/0/inputSchema/type"],
      [[{ ...located, inputSchema: [] }], "/clientTools/0/inputSchema"],
      [
        [{ ...located, inputSchema: { type: "object", properties: { a: { type: "text" } } } }],
        "/clientTools/0/inputSchema/properties/a/type",
      ],
      [[{ ...located, inputSchema: schemaOf(16 * 1024 + 1) }], "/clientTools/0/inputSchema"],
      [null, "/clientTools"],
    ];
    for (const [clientTools, path] of faults) {
      const refused = await create(clientTools);
      expect([refused.status, refused.body.error.code]).toEqual([400, "validation_failed"]);
      expect(refused.body.error.details.issues.map((issue: { path: string }) => issue.path)).toContain(path);
    }
  });

  test("may be named by a policy's override, and not be removed while they are", async () => {
    const approvalInChat = { default: "full", overrides: [{ tool: "locate", mcpConnectionId: null, mode: "manual" }] };
    const made = await create([located], { approvalInChat });
    expect(made.status).toBe(201);
    expect((await create([], { approvalInChat })).body.error.details.issues[0].path).toBe(
      "/approvalInChat/overrides/0/tool",
    );
    const removed = await t.call("PUT", `/v1/agents/${made.body.id}`, { body: { clientTools: [] } });
    expect(removed.status).toBe(400);
  });

  test("do not have the name that a tool of an attached MCP connection has", async () => {
    const mcp = new McpServer();
    mcp.settings.tools = [textTool("echo")];
    const made = await t.call("POST", "/v1/mcp-connections", {
      body: { name: "my srv", url: mcp.url, authType: "none" },
    });
    const mcpConnectionIds = [made.body.id];
    const clientTools = [
      { ...located, name: "my_srv__other" },
      { ...located, name: "my_srv__echo" },
    ];
    const refused = await create(clientTools, { mcpConnectionIds });
    expect(refused.body.error.details.issues[0].path).toBe("/clientTools/1/name");
    // Either of the two may come first.
    const alone = await create(clientTools);
    expect(alone.status).toBe(201);
    const path = `/v1/agents/${alone.body.id}`;
    expect((await t.call("PUT", path, { body: { mcpConnectionIds } })).status).toBe(400);
    await mcp.stop();
    // A server that is down takes no names.
    expect((await t.call("PUT", path, { body: { instructions: "x" } })).status).toBe(200);
  });
});
