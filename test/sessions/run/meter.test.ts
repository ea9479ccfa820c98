import { describe, expect, test } from "bun:test";
import { changeTenant } from "../../../src/tenants/store.ts";
import { useService } from "../../harness/fixture.ts";
import { eventually, type TestTenant } from "../../harness/harness.ts";
import { makeAgent, makeProvider, userMessage } from "../../harness/seed.ts";
import { statusAndCode } from "../../harness/status-and-code.ts";
import { idle, messagesOf, open, play, script, sessionPath, textOf } from "../../harness/turns.ts";
import { startVendor } from "../../servers/vendor.ts";

const h = await useService({ worker: true });
const forms = ["a", "b"] as const;

/** A tenant with this credit and an agent that may do everything. */
async function payer(usageCredit: number | null, agent: Parameters<typeof makeAgent>[2] = {}) {
  const t = await h.tenant();
  const agentId = await makeAgent(h, t, agent);
  await changeTenant(h.sql, t.id, { usageCredit });
  return { t, agentId };
}

async function creditOf({ id }: TestTenant): Promise<number> {
  const [row] = await h.sql<{ usageCredit: number }[]>`select usage_credit from tenants where id = ${id}`;
  return row?.usageCredit ?? Number.NaN;
}

/** What a turn was metered with, which its row and its row of usage say alike. */
async function metered(turnId: string) {
  return eventually(async () => {
    const [row] = await h.sql<
      { inputTokens: number; outputTokens: number; modelCalls: number; estimated: boolean; same: boolean }[]
    >`
      select u.input_tokens, u.output_tokens, t.model_calls, u.estimated,
        (u.input_tokens, u.output_tokens, u.estimated) = (t.input_tokens, t.output_tokens, t.usage_estimated) as same
      from usage u join turns t on t.id = u.turn_id where u.turn_id = ${turnId}`;
    if (row === undefined) return undefined;
    const { same, ...used } = row;
    expect(same).toBe(true);
    return used;
  });
}

/** A quarter of the bytes, rounded up. */
const quarter = (text: string) => Math.ceil(Buffer.byteLength(text) / 4);

describe("a model call that ends without usage is estimated", () => {
  test("cancelled at the end of a long answer: a quarter of the bytes that came, from the credit too", async () => {
    const { t, agentId } = await payer(1_000_000);
    const live = await open(h, t, "POST", sessionPath(agentId, null), {
      body: { message: script("size=200000 chunks=100 hangAfterChunks=99") },
    });
    let text = "";
    while (text.length < 198_000) text += (await live.until("text-delta")).delta;
    await t.call("POST", sessionPath(agentId, live.sessionId, "/cancel"));
    await live.rest();
    const used = await metered(live.turnId);
    expect(used).toMatchObject({ outputTokens: quarter(text), modelCalls: 1, estimated: true });
    expect(used.inputTokens).toBeGreaterThanOrEqual(quarter("size=200000 chunks=100 hangAfterChunks=99"));
    expect(used.inputTokens).toBeLessThan(100);
    expect(await creditOf(t)).toBe(1_000_000 - used.inputTokens - used.outputTokens);
  });

  test.each([
    ["an error in mid-stream", 'text="Äpfel, Birnen" chunks=4 failAfterChunks=2', "failed"],
    [
      "a connection that is cut",
      'reasoning="Let me see." text="One two three." chunks=4 delayMs=300 cutAfterChunks=4',
      "failed",
    ],
    ["a provider that never says its usage", 'text="One two three." usage=none', "succeeded"],
  ])("%s", async (_what, steps, status) => {
    const { t, agentId } = await payer(1_000);
    const { chunks, turnId } = await play(t, agentId, null, { message: script(steps) });
    const came = chunks.map(({ type, delta }) => (/^(text|reasoning)-delta$/.test(type) ? delta : "")).join("");
    expect(came).not.toBe("");
    const used = await metered(turnId);
    expect(used).toMatchObject({ outputTokens: quarter(came), modelCalls: 1, estimated: true });
    expect(await creditOf(t)).toBe(1_000 - used.inputTokens - used.outputTokens);
    const [turn] = await h.sql`select status from turns where id = ${turnId}`;
    expect(turn?.status).toBe(status);
  });

  test("in the second step: the first step counts as the provider says it", async () => {
    const { t, agentId } = await payer(null, { tools: ["write_todos"] });
    const first = 'tool=write_todos args={"todos":[]} inputTokens=1000 outputTokens=500';
    const broken = 'text="Two words." chunks=2 failAfterChunks=1';
    const { chunks, turnId } = await play(t, agentId, null, { message: script(`${first}; ${broken}`) });
    const used = await metered(turnId);
    const outputTokens = 500 + quarter(textOf(chunks));
    expect(used).toMatchObject({ modelCalls: 2, estimated: true, outputTokens });
    expect(used.inputTokens).toBeGreaterThan(1_050);
  });

  test("a call that never reached a server costs nothing", async () => {
    const gone = startVendor(() => new Response(null));
    await gone.stop();
    const t = await h.tenant();
    const provider = await makeProvider(h, t, { baseUrl: `${gone.url}/v1` });
    const agentId = await makeAgent(h, t, { providerId: provider.id });
    const { chunks, turnId } = await play(t, agentId, null, { message: userMessage("x") });
    expect(chunks.at(-1)).toEqual({ type: "error", errorText: "The model provider cannot be reached." });
    expect(await metered(turnId)).toEqual({ inputTokens: 0, outputTokens: 0, modelCalls: 0, estimated: false });
  });

  test("a call that was refused costs nothing", async () => {
    const { t, agentId } = await payer(1_000);
    for (const status of [401, 500]) {
      const { turnId } = await play(t, agentId, null, { message: script(`fail=${status}`) });
      expect(await metered(turnId)).toEqual({ inputTokens: 0, outputTokens: 0, modelCalls: 0, estimated: false });
    }
    expect(await creditOf(t)).toBe(1_000);
  });

  test("a compaction that is cancelled", async () => {
    // An unknown model has a window of 128,000 tokens; this reserve leaves 300 for the prompt.
    const { t, agentId } = await payer(100_000, { compactionReserveTokens: 127_700 });
    const hang = `[[sim: text=x hangAfterChunks=0]]`;
    const long = `${"lorem ".repeat(150)} ${hang}`;
    const first = await open(h, t, "POST", sessionPath(agentId, null), { body: { message: userMessage("alpha") } });
    await first.rest();
    await h.sql`update messages set content = jsonb_set(content::jsonb, '{parts}', ${h.sql.json([{ type: "text", text: long }])})::json
      where session_id = ${first.sessionId}`;
    const before = await creditOf(t);
    h.model.clear();
    const live = await open(h, t, "POST", sessionPath(agentId, first.sessionId), {
      body: { message: userMessage(long) },
    });
    await eventually(() => h.model.requests().length > 0);
    expect(JSON.stringify(h.model.requests()[0]?.body)).toContain("Summarise the conversation");
    await t.call("POST", sessionPath(agentId, first.sessionId, "/cancel"));
    await live.rest();
    const used = await metered(live.turnId);
    expect(used).toMatchObject({ outputTokens: 0, modelCalls: 1, estimated: true });
    expect(used.inputTokens).toBeGreaterThan(quarter(long));
    expect(await creditOf(t)).toBe(before - used.inputTokens);
  });
});

describe("a usage credit that is spent within a turn", () => {
  const step = 'tool=write_todos args={"todos":[]} inputTokens=300 outputTokens=100';
  const spent = { type: "error", errorText: "The tenant's usage credit is spent." };

  test.each(forms)("ends it before the next model call, and what its steps did is kept; form %s", async (form) => {
    const { t, agentId } = await payer(1_000, { tools: ["write_todos"] });
    const message = script(`text="First." ${step}; text="Second." ${step}; text="Third." ${step}; text="Never."`);
    h.model.clear();
    const { chunks, sessionId, turnId } = await play(t, agentId, null, { message }, { form });
    expect(chunks.at(-1)).toEqual(spent);
    expect(textOf(chunks)).toBe("First.Second.Third.");
    expect(h.model.requests()).toHaveLength(3);
    expect(await metered(turnId)).toEqual({ inputTokens: 900, outputTokens: 300, modelCalls: 3, estimated: false });
    expect(await creditOf(t)).toBe(-200);
    const [turn] = await h.sql`select status, error ->> 'code' as code from turns where id = ${turnId}`;
    expect(turn).toEqual({ status: "failed", code: "usage_credit_required" });
    const [asked, answer] = await messagesOf(t, agentId, sessionId);
    expect(asked.parts).toEqual(message.parts);
    const texts = answer.parts.flatMap((part: { type: string; text?: string }) =>
      part.type === "text" ? [part.text] : [],
    );
    expect(texts).toEqual(["First.", "Second.", "Third."]);
    const tools = answer.parts.filter((part: { type: string }) => part.type === "tool-write_todos");
    expect(tools.map(({ state }: { state: string }) => state)).toEqual(Array(3).fill("output-available"));
    // The next turn sees it.
    await changeTenant(h.sql, t.id, { usageCredit: null });
    expect((await play(t, agentId, sessionId, { message: script("text=Fine.") })).chunks.at(-1)?.type).toBe("finish");
    expect(await messagesOf(t, agentId, sessionId)).toHaveLength(4);
  });

  test.each(forms)(
    "402 usage_credit_required: with stream: false, in a session and in a stateless generation; form %s",
    async (form) => {
      const { t, agentId } = await payer(300, { tools: ["write_todos"] });
      const message = script(`${step}; text=Never`);
      const played = await play(t, agentId, null, { message, stream: false }, { form });
      expect(statusAndCode(played)).toEqual([402, "usage_credit_required"]);
      await changeTenant(h.sql, t.id, { usageCredit: 300 });
      const body = { messages: [message], stream: false };
      const generated = await t.call("POST", `/v1/agents/${agentId}/generate`, { body, form });
      expect(statusAndCode(generated)).toEqual([402, "usage_credit_required"]);
      expect(await creditOf(t)).toBe(-100);
    },
  );

  test("of a regeneration: what it did takes the place of the previous answer", async () => {
    const { t, agentId } = await payer(null, { tools: ["write_todos"] });
    const { sessionId } = await play(t, agentId, null, { message: script(`text=New ${step}; text=End`) });
    await changeTenant(h.sql, t.id, { usageCredit: 1 });
    const again = await play(t, agentId, sessionId, { trigger: "regenerate-message" });
    expect(again.chunks.at(-1)).toEqual(spent);
    const messages = await messagesOf(t, agentId, sessionId);
    expect(messages).toHaveLength(2);
    expect(JSON.stringify(messages[1])).not.toContain("End");
    expect(JSON.stringify(messages[1])).toContain("New");
  });

  test("50 turns at once with one token left: each makes at most one model call", async () => {
    const { t, agentId } = await payer(1, { tools: ["write_todos"] });
    h.model.clear();
    const turns = await Promise.all(
      Array.from({ length: 50 }, () => play(t, agentId, null, { message: script(`${step}; ${step}; text=Never`) })),
    );
    const begun = turns.filter(({ status }) => status === 201);
    for (const { turnId } of begun) expect((await metered(turnId)).modelCalls).toBeLessThanOrEqual(1);
    expect(h.model.requests().length).toBeLessThanOrEqual(begun.length);
    expect(await creditOf(t)).toBe(1 - 400 * h.model.requests().length);
  });

  test("a continuation asks too: after an approval with no credit left, nothing runs and no model is called", async () => {
    const approvalInChat = { default: "manual" as const, overrides: [] };
    const { t, agentId } = await payer(1_000, { tools: ["workspace"], approvalInChat });
    const { sessionId, turnId } = await play(t, agentId, null, {
      message: script('text=Before tool=write args={"path":"a.txt","content":"x"}; text=Never'),
    });
    const path = sessionPath(agentId, sessionId, "/tool-approvals");
    const { approvals } = (await t.call("GET", path)).body;
    await changeTenant(h.sql, t.id, { usageCredit: 0 });
    h.model.clear();
    expect((await t.call("POST", `${path}/${approvals[0].id}`, { body: { approved: true } })).status).toBe(202);
    await idle(h, sessionId);
    expect(h.model.requests()).toHaveLength(0);
    const [turn] = await h.sql`select status, error ->> 'code' as code from turns where id = ${turnId}`;
    expect(turn).toEqual({ status: "failed", code: "usage_credit_required" });
    const [, answer] = await messagesOf(t, agentId, sessionId);
    const call = answer.parts.find((part: { type: string }) => part.type === "tool-write");
    expect(call).toMatchObject({ state: "output-error", errorText: "The tenant's usage credit is spent." });
  });
});
