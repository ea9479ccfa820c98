import { afterAll, describe, expect, test } from "bun:test";
import { createOpenAI } from "@ai-sdk/openai";
import type { UIMessageChunk } from "ai";
import { chunksOf } from "../../../src/messages/to-chunks.ts";
import { boundedModelFetch } from "../../../src/providers/bounds.ts";
import { readUndocumented } from "../../contract/undocumented.ts";
import { eventStream } from "../../harness/anthropic-events.ts";
import { assembled } from "../../harness/assembled.ts";
import { useTenant } from "../../harness/fixture.ts";
import { eventually } from "../../harness/harness.ts";
import { bothSides, onVendor } from "../../harness/model-sides.ts";
import { makeAgent, makeProvider, userMessage } from "../../harness/seed.ts";
import { refusedBy } from "../../harness/strict-readers.ts";
import { idle, messagesOf, play, script } from "../../harness/turns.ts";
import { responsesStream, vendorStreams } from "../../harness/vendor-streams.ts";
import { startVendor } from "../../servers/vendor.ts";

const { h, t } = await useTenant({ worker: true });
const undocumented = await readUndocumented(t);

let answer = "";
const vendor = startVendor(({ body }) =>
  body === null ? new Response("no", { status: 404 }) : new Response(answer, eventStream),
);
afterAll(() => vendor.stop());

type Vendor = (typeof vendorStreams)[number]["providerType"];
const agents = new Map<Vendor, Promise<string>>();
/** An agent with a model of the vendor's stand-in; one for each protocol. */
function agentOf(providerType: Vendor): Promise<string> {
  const made = async () => {
    const provider = await makeProvider(h, t, { providerType, baseUrl: `${vendor.url}/v1` });
    return makeAgent(h, t, { providerId: provider.id, model: "m" });
  };
  const agent = agents.get(providerType) ?? made();
  agents.set(providerType, agent);
  return agent;
}

/** Words of vendors' books, none of which a reader or a message has. */
const bookkeeping =
  /"(usage|usageMetadata|safetyRatings|service_tier|serviceTier|cost|native_finish_reason|provider|annotations|citations|logprobs|groundingMetadata|container)"|anthropic\.message_start/;

describe("what a vendor streams", () => {
  test.each(vendorStreams.map((stream) => [stream.vendor, stream] as const))(
    "%s",
    async (_vendor, { providerType, text }) => {
      const agentId = await agentOf(providerType);
      answer = text;
      const { chunks, sessionId } = await play(t, agentId, null, { message: userMessage("x") });
      expect(undocumented("UIMessageChunk", chunks)).toEqual([]);
      expect([refusedBy(5, chunks), refusedBy(6, chunks)]).toEqual([[], []]);
      const stored = (await messagesOf(t, agentId, sessionId)).at(-1);
      expect(await assembled(chunks)).toEqual(stored);
      expect(undocumented("MessagePart", stored.parts)).toEqual([]);
      expect(undocumented("UIMessageChunk", chunksOf(stored) as object[])).toEqual([]);
      const said = stored.parts.flatMap((part: { type: string; text?: string }) =>
        part.type === "text" ? [part.text] : [],
      );
      expect([said.join(""), stored.metadata]).toEqual(["Half of it", { finishReason: "stop" }]);
      expect(JSON.stringify([chunks, stored])).not.toMatch(bookkeeping);
      // The next turn is sent what was stored.
      expect((await play(t, agentId, sessionId, { message: userMessage("y"), stream: false })).status).toBe(200);
    },
  );

  test("OpenAI's Responses, which are at OpenAI's own address alone", async () => {
    const send = boundedModelFetch((url, init) => fetch(url, init), {
      idleMs: 5_000,
      tenantId: null,
      providerType: "llm_vendor_a",
    });
    const modelAt = (url: string) =>
      createOpenAI({ baseURL: `${url}/v1`, apiKey: "key", fetch: send as typeof fetch }).responses("gpt-5");
    await onVendor([() => new Response(responsesStream, eventStream)], modelAt, async (stage) => {
      const { raw, ours } = await bothSides(stage, { messages: [userMessage("x") as never] });
      expect(ours.ended).toBe("finished");
      expect([refusedBy(5, raw.chunks), refusedBy(6, raw.chunks)]).toEqual([[], []]);
      expect(JSON.stringify(raw.chunks)).not.toMatch(bookkeeping);
      expect(undocumented("UIMessageChunk", raw.chunks)).toEqual([]);
      const types = raw.chunks.map(({ type }) => type);
      for (const type of ["reasoning-delta", "tool-input-available", "tool-output-available", "source-url"])
        expect(types).toContain(type as UIMessageChunk["type"]);
    });
  });

  test("a tool that the vendor runs itself is a call and its result", async () => {
    for (const [name, providerType, tool] of [
      ["Google", "google", "code_execution"],
      ["Anthropic", "anthropic", "web_search"],
    ] as const) {
      answer = vendorStreams.find((stream) => stream.vendor === name)?.text ?? "";
      const { body } = await play(t, await agentOf(providerType), null, { message: userMessage("x"), stream: false });
      const called = body.message.parts.find((part: { type: string }) => part.type === "dynamic-tool");
      expect(called).toMatchObject({ toolName: tool, state: "output-available", providerExecuted: true });
    }
  });
});

describe("the stream of a turn that was cut off is closed as what is stored", async () => {
  const agentId = await makeAgent(h, t, { tools: ["memory"] });
  const never = await makeAgent(h, t, {
    tools: ["memory"],
    approvalInChat: { default: "full", overrides: [{ tool: "memory_save", mode: "deny" }] },
  });

  test("a tool that nobody has is one call to all versions", async () => {
    const { chunks, sessionId } = await play(t, agentId, null, {
      message: script('tool=nothing args={}; text="Sorry."'),
    });
    expect([refusedBy(5, chunks), refusedBy(6, chunks)]).toEqual([[], []]);
    const stored = (await messagesOf(t, agentId, sessionId)).at(-1);
    expect(await assembled(chunks)).toEqual(stored);
    expect(stored.parts[1]).toMatchObject({ type: "dynamic-tool", toolName: "nothing", state: "output-error" });
  });

  test("a tool that the policy denies is read by version 6", async () => {
    const message = script('tool=memory_save args={"text":"a"}; text="Half of it"');
    const { chunks, sessionId } = await play(t, never, null, { message });
    expect(refusedBy(6, chunks)).toEqual([]);
    expect(await assembled(chunks)).toEqual((await messagesOf(t, never, sessionId)).at(-1));
  });

  test.each([
    ["in its text", 'text="one two three" chunks=3 hangAfterChunks=2'],
    ["in its thoughts", 'reasoning="one two three" hangAfterChunks=2'],
    ["in a later step", 'tool=memory_save args={"text":"a"}; text="one two three" chunks=3 hangAfterChunks=2'],
  ])("cancelled with what it said, %s", async (_where, what) => {
    const sessionId = (await play(t, agentId, null, { message: script('text="First."') })).sessionId;
    const path = `/v1/agents/${agentId}/sessions/${sessionId}`;
    const played = play(t, agentId, sessionId, { message: script(what) });
    await eventually(() => isShown(sessionId));
    await t.call("POST", `${path}/cancel`, { body: { keep: "partial" } });
    const { chunks } = await played;
    await idle(h, sessionId);
    expect((chunks.at(-1) as { type: string }).type).toBe("abort");
    expect(await assembled(chunks)).toEqual((await messagesOf(t, agentId, sessionId)).at(-1));
    expect(refusedBy(5, chunks)).toEqual([]);
    expect(undocumented("UIMessageChunk", chunks)).toEqual([]);
  });

  /** Whether the model has got so far: it hangs from then on. */
  async function isShown(sessionId: string): Promise<boolean> {
    const rows =
      await h.sql`select 1 from turns where session_id = ${sessionId} and status = 'running' and shown_at is not null`;
    return rows.length > 0;
  }
});
