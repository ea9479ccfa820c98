import { afterAll, describe, expect, test } from "bun:test";
import { closing, eventStream, opening, said, textOf } from "../../harness/anthropic-events.ts";
import { assembled } from "../../harness/assembled.ts";
import { useTenant } from "../../harness/fixture.ts";
import { makeAgent, makeProvider, userMessage } from "../../harness/seed.ts";
import { messagesOf, play, script } from "../../harness/turns.ts";
import { startVendor } from "../../servers/vendor.ts";

const { h, t } = await useTenant({ worker: true });

const lines = (...events: readonly object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
const chat = (finish_reason: string) =>
  lines(
    { id: "c", choices: [{ index: 0, delta: { role: "assistant", content: "Half of it" }, finish_reason: null }] },
    { id: "c", choices: [{ index: 0, delta: {}, finish_reason }] },
    { id: "c", choices: [], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } },
  );
const google = (finishReason: string) =>
  lines({
    candidates: [{ content: { role: "model", parts: [{ text: "Half of it" }] }, finishReason, index: 0 }],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 },
  });
const anthropic = (reason: string) => textOf(opening, ...said(0, "Half of it"), ...closing(reason));

let answer = "";
const vendor = startVendor(({ body }) =>
  body === null ? new Response("no", { status: 404 }) : new Response(answer, eventStream),
);
afterAll(() => vendor.stop());

describe.each([
  ["openai", chat, { stop: "stop", length: "length", content_filter: "content-filter" }],
  ["custom", chat, { stop: "stop", length: "length", content_filter: "content-filter" }],
  ["openrouter", chat, { stop: "stop", length: "length", content_filter: "content-filter" }],
  ["anthropic", anthropic, { end_turn: "stop", max_tokens: "length", refusal: "content-filter" }],
  ["google", google, { STOP: "stop", MAX_TOKENS: "length", SAFETY: "content-filter" }],
] as const)("%s", (providerType, spoken, reasons) => {
  test("why the model ended its answer stands in the JSON, in the stream's end and with the message", async () => {
    const provider = await makeProvider(h, t, { providerType, baseUrl: `${vendor.url}/v1` });
    const agentId = await makeAgent(h, t, { providerId: provider.id, model: "m" });
    for (const [raw, finishReason] of Object.entries(reasons))
      for (const form of ["a", "b"] as const) {
        answer = spoken(raw);
        const whole = await play(t, agentId, null, { message: userMessage("x"), stream: false }, { form });
        expect([raw, whole.status, whole.body.finishReason]).toEqual([raw, 201, finishReason]);
        expect(whole.body.message.metadata).toEqual({ finishReason });
        expect((await messagesOf(t, agentId, whole.sessionId)).at(-1)).toEqual(whole.body.message);

        const streamed = await play(t, agentId, null, { message: userMessage("x") }, { form });
        expect(streamed.chunks.at(-1)).toEqual({ type: "finish", finishReason, messageMetadata: { finishReason } });
        const stored = (await messagesOf(t, agentId, streamed.sessionId)).at(-1);
        expect(await assembled(streamed.chunks)).toEqual(stored);
      }
  });
});

test("an answer that continues after a pause has the reason of its end", async () => {
  const agentId = await makeAgent(h, t, {
    tools: ["memory"],
    approvalInChat: { default: "manual", overrides: [] },
  });
  const message = script('tool=memory_save args={"text":"a"}; text="cut" finish=length');
  const asked = await play(t, agentId, null, { message });
  expect(asked.chunks.at(-1)).toMatchObject({ finishReason: "tool-calls" });
  const path = `/v1/agents/${agentId}/sessions/${asked.sessionId}`;
  const { approvals } = (await t.call("GET", `${path}/tool-approvals`)).body;
  const parts = (await messagesOf(t, agentId, asked.sessionId)).at(-1);
  expect([approvals.length, parts.metadata]).toEqual([1, { finishReason: "tool-calls" }]);
  const answered = {
    ...parts,
    parts: parts.parts.map((part: { state?: string; approval?: object }) =>
      part.state === "approval-requested"
        ? { ...part, state: "approval-responded", approval: { ...part.approval, approved: true } }
        : part,
    ),
  };
  const done = await t.call("POST", path, { body: { message: answered, stream: false } });
  expect([done.status, done.body.finishReason]).toEqual([200, "length"]);
  expect(done.body.message.metadata).toEqual({ finishReason: "length" });
  expect((await messagesOf(t, agentId, asked.sessionId)).at(-1)).toEqual(done.body.message);
});
