import { afterAll, expect, test } from "bun:test";
import { chunksOf } from "../../../src/messages/to-chunks.ts";
import { readUndocumented } from "../../contract/undocumented.ts";
import { call, closing, eventStream, opening, textOf, thought } from "../../harness/anthropic-events.ts";
import { useTenant } from "../../harness/fixture.ts";
import { makeAgent, makeProvider, chunksOf as sentChunks, userMessage } from "../../harness/seed.ts";
import { type Chunk, messagesOf, play, script, sessionPath } from "../../harness/turns.ts";
import { McpServer, textResult, textTool } from "../../servers/mcp.ts";
import { startVendor } from "../../servers/vendor.ts";
import { vendorWords } from "../../servers/vendor-answers.ts";

/** Each field of a stream's chunks, and of the parts of the message that is stored of it, is in the OpenAPI document. */

const { h, t } = await useTenant({ worker: true });
const undocumented = await readUndocumented(t);
const mcp = new McpServer();
afterAll(() => mcp.stop());
mcp.settings.tools = [textTool("paint"), textTool("fail")];
mcp.settings.onCall = async ({ name, report }) => {
  await report(1, 2, "Painting");
  if (name === "fail") return textResult("No colour is left.", true);
  return {
    content: [
      { type: "text", text: "Here." },
      { type: "image", data: "AAAA", mimeType: "image/png" },
    ],
  };
};
const connection = (
  await t.call("POST", "/v1/mcp-connections", { body: { name: "w", url: mcp.url, authType: "none" } })
).body;

/** Holds what readers got, and what is stored of it and made of that, against the document; returns the types of the chunks. */
async function check(agentId: string, sessionId: string, chunks: readonly Chunk[]): Promise<string[]> {
  const stored = (await messagesOf(t, agentId, sessionId)).at(-1);
  expect(undocumented("UIMessageChunk", chunks)).toEqual([]);
  expect(undocumented("MessagePart", stored.parts)).toEqual([]);
  expect(undocumented("UIMessageChunk", chunksOf(stored) as object[])).toEqual([]);
  return chunks.map(({ type }) => type);
}

test("a field that is not in the document would be seen", () => {
  const given = { type: "text-delta", id: "0", delta: "It is", citations: [] };
  expect(undocumented("UIMessageChunk", [given, { type: "custom" }])).toEqual([
    expect.stringContaining("citations"),
    expect.stringContaining("custom"),
  ]);
});

test("tools of a server: progress, a result with a picture, a failure, a call that is refused", async () => {
  const agentId = await makeAgent(h, t, {
    tools: ["memory"],
    mcpConnectionIds: [connection.id],
    approvalInChat: { default: "full", overrides: [{ tool: "memory_save", mode: "deny" }] },
  });
  const calls = 'tool=w__paint tool=w__fail tool=nobody_has_it tool=memory_save args={"text":"a"}; text="Done."';
  const { chunks, sessionId } = await play(t, agentId, null, { message: script(calls) });
  const types = await check(agentId, sessionId, chunks);
  for (const type of [
    ...["tool-input-start", "tool-input-available", "tool-input-error", "tool-output-available", "tool-output-error"],
    ...["tool-approval-request", "tool-output-denied", "data-tool-progress", "file"],
  ])
    expect(types).toContain(type);
});

test("calls that wait for a person or for the caller, and what became of them", async () => {
  const agentId = await makeAgent(h, t, {
    tools: ["memory"],
    clientTools: [{ name: "locate", description: "Where the user is.", inputSchema: { type: "object" } }],
    approvalInChat: { default: "manual", overrides: [{ tool: "locate", mode: "full" }] },
  });
  const asked = await play(t, agentId, null, {
    message: script('tool=memory_save args={"text":"a"} tool=memory_save args={"text":"b"}; text="Done."'),
  });
  expect(await check(agentId, asked.sessionId, asked.chunks)).toContain("tool-approval-request");
  const waiting = (await messagesOf(t, agentId, asked.sessionId)).at(-1);
  let decided = 0;
  const parts = waiting.parts.map((part: { approval?: object }) =>
    part.approval === undefined
      ? part
      : {
          ...part,
          state: "approval-responded",
          approval: { ...part.approval, approved: decided++ === 0, reason: "So." },
        },
  );
  const path = sessionPath(agentId, asked.sessionId);
  const went = await t.call("POST", path, { body: { message: { ...waiting, parts } } });
  const types = await check(agentId, asked.sessionId, sentChunks(went.body));
  expect(types).toEqual(expect.arrayContaining(["tool-output-available", "tool-output-denied"]));

  const called = await play(t, agentId, null, { message: script('tool=locate args={}; text="Done."') });
  await check(agentId, called.sessionId, called.chunks);
});

test("signatures of calls and thoughts", async () => {
  let answer = "";
  const vendor = startVendor(({ body }) => {
    if (body === null) return new Response("no", { status: 404 });
    const next = answer;
    answer = "";
    return next === ""
      ? vendorWords[body.contents === undefined ? "anthropic" : "google"].text("Done.")
      : new Response(next, eventStream);
  });
  try {
    const args = { todos: [] };
    const functionCall = { name: "write_todos", args };
    for (const [providerType, sent] of [
      [
        "google",
        `data: ${JSON.stringify({
          candidates: [
            {
              content: {
                role: "model",
                parts: [
                  { text: "Let me see.", thought: true },
                  { functionCall, thoughtSignature: "c2lnbmVk" },
                  { inlineData: { mimeType: "image/png", data: "AAAA" }, thoughtSignature: "c2lnbmVk" },
                ],
              },
              finishReason: "STOP",
            },
          ],
        })}\n\n`,
      ],
      [
        "anthropic",
        textOf(
          opening,
          ...thought(0, "Let me see."),
          ...call(1, "call_0", "write_todos", JSON.stringify(args)),
          ...closing("tool_use"),
        ),
      ],
    ] as const) {
      const { id: providerId } = await makeProvider(h, t, { providerType, baseUrl: `${vendor.url}/v1` });
      const agentId = await makeAgent(h, t, { providerId, model: "m", tools: ["write_todos"] });
      answer = sent;
      const { chunks, sessionId } = await play(t, agentId, null, { message: userMessage("x") });
      expect(await check(agentId, sessionId, chunks)).toContain("tool-output-available");
      expect(JSON.stringify(chunks)).toContain("ignature");
    }
  } finally {
    await vendor.stop();
  }
});
