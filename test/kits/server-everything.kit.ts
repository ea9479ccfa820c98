/**
 * The reference server of MCP, which has a tool for each thing that the protocol can do,
 * against this service as a client: an agent calls its tools in turns, and what came of it is
 * read where a reader and a model have it. `npm run test:kits` fetches the server and runs this.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { listen } from "../../src/kernel/runtime.ts";
import type { ToolProgress } from "../../src/messages/tool-progress.ts";
import { eventually } from "../harness/eventually.ts";
import { useTenant } from "../harness/fixture.ts";
import { makeAgent } from "../harness/seed.ts";
import { type Chunk, LiveStream, messagesOf, play, script, sessionPath } from "../harness/turns.ts";
import { fetchKit } from "./fetch-kit.ts";

const kit = "@modelcontextprotocol/server-everything@2026.8.31";
/** A turn with a tool that takes its time. */
const turnMs = 60_000;

const { h, t } = await useTenant({ worker: true });
const folder = await fetchKit(kit);
let server: ChildProcess;
let said = "";
let agentId: string;

beforeAll(async () => {
  const port = freePort();
  server = spawn(process.execPath, [join(folder, "dist", "index.js"), "streamableHttp"], {
    env: { PATH: process.env.PATH, PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [server.stdout, server.stderr])
    stream?.on("data", (piece) => {
      said += piece;
    });
  await eventually(() => said.includes(`port ${port}`), 20_000);
  const made = await t.call("POST", "/v1/mcp-connections", {
    body: { name: "ev", url: `http://127.0.0.1:${port}/mcp`, authType: "none" },
  });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  agentId = await makeAgent(h, t, {
    mcpConnectionIds: [made.body.id],
    approvalInChat: { default: "full", overrides: [] },
  });
});
afterAll(async () => {
  server.kill();
  await once(server, "exit");
});

function freePort(): number {
  const held = listen({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const { port } = held;
  void held.stop(true);
  return port;
}

/** Has the agent call a tool. Returns the stream's chunks, and the call's end. */
async function call(tool: string, args: object = {}) {
  const message = script(`tool=ev__${tool} args=${JSON.stringify(args)}; text="Done."`);
  const { chunks, sessionId } = await play(t, agentId, null, { message });
  const end = chunks.find(({ type }) => type.startsWith("tool-output-"));
  const stored = (await messagesOf(t, agentId, sessionId)).at(-1) as { parts: Chunk[] };
  return { chunks, output: String(end?.output ?? end?.errorText), type: end?.type, stored };
}

const isFile = ({ type }: { readonly type: string }) => type === "file";

describe("server-everything", () => {
  test(
    "plain results are text",
    async () => {
      expect((await call("echo", { message: "hello" })).output).toBe("Echo: hello");
      expect((await call("get-sum", { a: 2, b: 3 })).output).toBe("The sum of 2 and 3 is 5.");
      const structured = await call("get-structured-content", { location: "Chicago" });
      expect(JSON.parse(structured.output)).toMatchObject({ temperature: expect.any(Number) });
    },
    turnMs,
  );

  test(
    "arguments that the server refuses are told to the model",
    async () => {
      const refused = await call("get-sum", { a: "two" });
      expect([refused.type, refused.output]).toEqual(["tool-output-error", expect.stringContaining("a")]);
      expect(refused.chunks.at(-1)).toMatchObject({ type: "finish" });
    },
    turnMs,
  );

  test(
    "a picture is a file part of the answer, and named in the text",
    async () => {
      for (const { chunks, output, stored } of [
        await call("get-tiny-image"),
        await call("get-annotated-message", { messageType: "success", includeImage: true }),
      ]) {
        expect(output).toMatch(/\[image, image\/png, \d+ bytes\]/);
        expect(chunks.filter(isFile)).toHaveLength(1);
        expect(stored.parts.filter(isFile)).toEqual([
          expect.objectContaining({
            mediaType: "image/png",
            url: expect.stringMatching(/^data:image\/png;base64,iVBORw/),
          }),
        ]);
      }
    },
    turnMs,
  );

  test(
    "resources: a text is text, other bytes and links are named",
    async () => {
      const text = await call("get-resource-reference", { resourceType: "Text", resourceId: 1 });
      expect(text.output).toContain("Resource 1");
      const blob = await call("get-resource-reference", { resourceType: "Blob", resourceId: 2 });
      expect(blob.output).toContain("not shown: only pictures and sounds are");
      const links = await call("get-resource-links", { count: 2 });
      expect([...links.output.matchAll(/\]\(demo:\/\/[^)]+\)/g)]).toHaveLength(2);
      const packed = { name: "a.gz", data: "data:text/plain,hello", outputType: "resource" };
      expect((await call("gzip-file-as-resource", packed)).output).toContain("application/gzip");
    },
    turnMs,
  );

  test(
    "a long operation's progress is shown as it comes, and not stored",
    async () => {
      const { chunks, output, stored } = await call("trigger-long-running-operation", { duration: 2, steps: 4 });
      expect(output).toContain("Long running operation completed");
      const shown = chunks.filter(({ type }) => type === "data-tool-progress").map(({ data }) => data as ToolProgress);
      expect(shown.map(({ progress, total }) => [progress, total]).slice(0, 3)).toEqual([
        [1, 4],
        [2, 4],
        [3, 4],
      ]);
      expect(stored.parts.some(({ type }) => type.startsWith("data-"))).toBe(false);
    },
    turnMs,
  );

  test(
    "a tool that only runs as a task is run as one",
    async () => {
      const { chunks, output, type } = await call("simulate-research-query", { topic: "tea" });
      expect([type, output]).toEqual(["tool-output-available", expect.stringContaining("Research Report: tea")]);
      const messages = chunks.flatMap((chunk) =>
        chunk.type === "data-tool-progress" ? [(chunk.data as ToolProgress).message] : [],
      );
      expect(messages).toContain("Generating report...");
    },
    turnMs,
  );

  test(
    "a turn that is cancelled cancels its task",
    async () => {
      const message = script('tool=ev__simulate-research-query args={"topic":"coffee"}; text="Done."');
      const response = await h.app(
        new Request(`http://parley.test${sessionPath(agentId, null)}`, {
          method: "POST",
          headers: { authorization: `Bearer ${t.token}`, "content-type": "application/json" },
          body: JSON.stringify({ message }),
        }),
      );
      const live = new LiveStream(response);
      for (let event = await live.next(); event !== null; event = await live.next())
        if (event.data !== "[DONE]" && event.data.type === "data-tool-progress") break;
      const asked = said.split("Received MCP POST request").length;
      const canceled = await t.call("POST", sessionPath(agentId, live.sessionId, "/cancel"), { body: {} });
      expect(canceled.status).toBe(202);
      await eventually(() => said.split("Received MCP POST request").length > asked, 10_000);
      let last: unknown = null;
      for (let event = await live.next(); event !== null; event = await live.next())
        if (event.data !== "[DONE]") last = event.data;
      expect(last).toMatchObject({ type: "abort" });
    },
    turnMs,
  );

  test("tools that need what this client does not do are not offered", async () => {
    const listed = await t.call("GET", "/v1/mcp-connections");
    const tested = await t.call("POST", `/v1/mcp-connections/${listed.body.mcpConnections[0].id}/test`);
    const names: string[] = tested.body.toolNames;
    expect(names).toContain("simulate-research-query");
    for (const name of ["trigger-elicitation-request", "trigger-sampling-request", "get-roots-list"])
      expect(names).not.toContain(name);
  });
});
