import { describe, expect, test } from "bun:test";
import { callTool, toolsOfTurn } from "../../harness/mcp-turn.ts";
import { useRawMcp } from "../../harness/raw-mcp-fixture.ts";
import { body, events, rpc, type SentMessage } from "../../servers/raw-mcp.ts";

const scene = await useRawMcp();
const { h, t } = scene;

/** Creates a connection and calls its one tool. */
async function call() {
  const path = "/v1/mcp-connections";
  const created = await t.call("POST", path, { body: { name: "c", url: scene.mcp.url, authType: "none" } });
  expect(created.status).toBe(201);
  const { id } = created.body;
  const { tools } = await toolsOfTurn(scene.ctx, t.id, [id]);
  const told = await callTool(tools, "c__look");
  return { ...told, status: (await t.call("GET", `${path}/${id}`)).body.status };
}

describe("a call", () => {
  const refusal = (status: number, said: unknown) => () =>
    body(
      typeof said === "string" ? said : JSON.stringify(said),
      typeof said === "string" ? "text/plain" : undefined,
      status,
    );
  const noPaper = { error: { code: -32_000, message: "No paper." } };
  const errors: [string, (message: SentMessage) => Response, string][] = [
    ["another id", (message) => rpc({ ...message, id: "server-error" }, noPaper), "No paper."],
    [
      "another id in a stream",
      (message) => events({ ...message, id: "server-error" }, noPaper, (json) => `data: ${json}\n\n`),
      "No paper.",
    ],
    ["status 400 and no id", refusal(400, { jsonrpc: "2.0", ...noPaper }), "No paper."],
    ["status 400 and id: null", refusal(400, { jsonrpc: "2.0", id: null, ...noPaper }), "No paper."],
    ["status 400 and another id", refusal(400, { jsonrpc: "2.0", id: "server-error", ...noPaper }), "No paper."],
    ["status 400 and a code of its own", ({ id }) => refusal(400, { jsonrpc: "2.0", id, ...noPaper })(), "No paper."],
    ["status 404 and the right id", ({ id }) => refusal(404, { jsonrpc: "2.0", id, ...noPaper })(), "No paper."],
    ["status 503 and the right id", ({ id }) => refusal(503, { jsonrpc: "2.0", id, ...noPaper })(), "No paper."],
    ["status 422 and a text for an error", refusal(422, { error: "No paper." }), "No paper."],
    ["status 500 and a message", refusal(500, { timestamp: 1, status: 500, message: "No paper." }), "No paper."],
    ["status 422 and details", refusal(422, { detail: [{ loc: ["body"], msg: "No paper." }] }), "No paper."],
    ["status 400 and plain text", refusal(400, "No paper."), "HTTP 400: No paper."],
    ["status 429 and plain text", refusal(429, "No paper."), "HTTP 429: No paper."],
    ["status 500 and a page", refusal(500, "<html>No paper.</html>"), "HTTP 500."],
    ["status 500 and nothing", refusal(500, ""), "HTTP 500."],
    ["status 413 and bytes", refusal(413, "\u0000 \n"), "HTTP 413."],
  ];
  for (const [what, answer, word] of errors)
    test(`that has an error with ${what} is told as failed, and the connection stays`, async () => {
      scene.mcp.answers["tools/call"] = answer;
      const told = await call();
      expect(told).toMatchObject({ failed: true, status: "connected" });
      expect(told.text).toContain(word);
      expect(told.text).not.toContain("The tool ran");
    });

  for (const status of [400, 500])
    test(`of a session that is refused with ${status} is told as a failed call, and the connection stays`, async () => {
      const shaken = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: {} };
      scene.mcp.answers.initialize = ({ id }) =>
        new Response(JSON.stringify({ jsonrpc: "2.0", id, result: shaken }), {
          headers: { "content-type": "application/json", "mcp-session-id": "s1" },
        });
      for (const said of ["No paper.", { jsonrpc: "2.0", id: null, ...noPaper }]) {
        scene.mcp.answers["tools/call"] = refusal(status, said);
        await h.sql`delete from mcp_connections where tenant_id = ${t.id}`;
        expect(await call()).toMatchObject({
          text: `The MCP server answered the call with HTTP ${status}: No paper.`,
          status: "connected",
        });
      }
      // 400 may mean a lost session, so that call is made once more in a new one.
      expect(scene.mcp.sent("tools/call")).toHaveLength(status === 400 ? 4 : 2);
    });

  for (const [status, said] of [
    [404, "Not found"],
    [502, "Bad gateway"],
    [503, { message: "later" }],
    [522, ""],
  ] as const)
    test(`that is ${status} says that the server is out of reach`, async () => {
      scene.mcp.answers["tools/call"] = refusal(status, said);
      expect(await call()).toMatchObject({ failed: true, status: "error" });
    });
});
