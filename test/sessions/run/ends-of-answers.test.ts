import { afterAll, expect, test } from "bun:test";
import { call, closing, eventStream, opening, said, textOf, thought } from "../../harness/anthropic-events.ts";
import { useTenant } from "../../harness/fixture.ts";
import { makeAgent, makeProvider, userMessage } from "../../harness/seed.ts";
import { messagesOf, play } from "../../harness/turns.ts";
import { startVendor } from "../../servers/vendor.ts";
import { vendorWords } from "../../servers/vendor-answers.ts";

/** What a model said counts by what came, whatever its vendor calls the end: words, calls, or nothing. */

const { h, t } = await useTenant({ worker: true });

type ProviderType = "custom" | "openai" | "openrouter" | "anthropic" | "google";
const todos = { todos: [{ content: "Look", status: "pending" }] };
/** What the agent's own model says first; after that it says "Done." */
let first = "";
let asked = 0;
let speaks: ProviderType = "custom";
const own = startVendor(({ body }) => {
  if (body === null) return new Response("no", { status: 404 });
  asked += 1;
  return asked === 1 ? new Response(first, eventStream) : vendorWords[speaks].text("Done.");
});
const other = startVendor(({ body }) =>
  body === null ? new Response("no", { status: 404 }) : vendorWords.custom.text("Said by the fallback."),
);
afterAll(() => Promise.all([own.stop(), other.stop()]));

const fallback = await makeProvider(h, t, { baseUrl: `${other.url}/v1` });
const agents = new Map<ProviderType, string>();
for (const providerType of ["custom", "openai", "openrouter", "anthropic", "google"] as const) {
  const { id: providerId } = await makeProvider(h, t, { providerType, baseUrl: `${own.url}/v1` });
  const fallbackModels = [{ providerId: fallback.id, model: "m" }];
  agents.set(providerType, await makeAgent(h, t, { providerId, model: "m", tools: ["write_todos"], fallbackModels }));
}

/** Returns what a turn shows: its texts, and the calls with how each ended. */
async function shown(providerType: ProviderType, answer: string) {
  [first, asked, speaks] = [answer, 0, providerType];
  const agentId = agents.get(providerType) as string;
  const { status, body, sessionId } = await play(t, agentId, null, { message: userMessage("x"), stream: false });
  if (status === 201) expect((await messagesOf(t, agentId, sessionId)).at(-1)).toEqual(body.message);
  const parts: readonly { type: string; text?: string; state?: string }[] = body.message?.parts ?? [];
  const texts = parts.flatMap(({ type, text }) => (type === "text" ? [text] : []));
  const calls = parts.flatMap(({ type, state }) => (/^(tool-|dynamic)/.test(type) ? [`${type} ${state}`] : []));
  return { status, texts: texts.join("|"), calls };
}

const lines = (...events: readonly object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
const chat = (reason: string | null, ...deltas: readonly object[]) =>
  lines(
    ...deltas.map((delta) => ({ id: "c", choices: [{ index: 0, delta, finish_reason: null }] })),
    { id: "c", choices: [{ index: 0, delta: {}, finish_reason: reason }] },
    { id: "c", choices: [], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } },
  );
const google = (finishReason: unknown, ...parts: readonly object[]) =>
  lines(
    { candidates: [{ content: { role: "model", parts }, finishReason, index: 0 }] },
    { usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 } },
  );
const anthropic = (reason: string, ...blocks: readonly ReturnType<typeof said>[]) =>
  textOf(opening, ...blocks.flat(), ...closing(reason));
/** From a server that does not send the last event of the protocol. */
const unstopped = (text: string) => text.replace(/event: message_stop\n.*\n\n/, "");

const called = { name: "write_todos", arguments: JSON.stringify(todos) };
const functionCall = { name: "write_todos", args: todos };
const anthropicCall = call(0, "call_0", "write_todos", JSON.stringify(todos));
const made = { status: 201, texts: "Done.", calls: ["tool-write_todos output-available"] };
const spoken = { status: 201, texts: "Half of it", calls: [] };
const failed = { status: 201, texts: "Said by the fallback.", calls: [] };

test("words and whole calls beside a reason that is blank, or that nobody knows, are an answer", async () => {
  for (const reason of ["", "eos", "FINISH_REASON_UNSPECIFIED"]) {
    for (const [providerType, call, text] of [
      ["google", google(reason, { functionCall }), google(reason, { text: "Half of it" })],
      ["anthropic", anthropic(reason, anthropicCall), anthropic(reason, said(0, "Half of it"))],
      ["anthropic", unstopped(anthropic(reason, anthropicCall)), unstopped(anthropic(reason, said(0, "Half of it")))],
      ["custom", chat(reason, { tool_calls: [{ function: called }] }), chat(reason, { content: "Half of it" })],
    ] as const) {
      expect([providerType, reason, await shown(providerType, call)]).toEqual([providerType, reason, made]);
      expect([providerType, reason, await shown(providerType, text)]).toEqual([providerType, reason, spoken]);
    }
  }
});

test("a blank reason in every event is none: the answer broke off", async () => {
  const half = { candidates: [{ content: { parts: [{ text: "Half " }] }, finishReason: "" }] };
  expect((await shown("google", lines(half, half))).status).toBe(502);
  expect(await shown("google", lines(half, { candidates: [{ finishReason: "STOP" }] }))).toMatchObject({ status: 201 });
});

test.each(["custom", "openai", "openrouter"] as const)(
  "%s: a call that is not in a list, or in the field of the protocol before, is made once",
  async (providerType) => {
    const { name, arguments: input } = called;
    const old = { function_call: called };
    const listed = { tool_calls: [{ index: 0, id: "call_0", type: "function", function: called }] };
    for (const [what, sent] of Object.entries({
      "one call without its list": chat("tool_calls", { tool_calls: { id: "call_0", function: called } }),
      whole: chat("function_call", { role: "assistant", content: null, ...old }),
      "in pieces": chat(
        "function_call",
        { role: "assistant", function_call: { name, arguments: "" } },
        { function_call: { arguments: input.slice(0, 9) } },
        { function_call: { name: null, arguments: input.slice(9) } },
      ),
      "in both fields": chat("tool_calls", { ...listed, ...old }),
      "in both, one after the other": chat("tool_calls", old, listed),
      "beside a blank one": chat("tool_calls", { function_call: { name: "", arguments: "" } }, listed),
      "beside one that says nothing": chat("tool_calls", { function_call: {} }, listed, { function_call: null }),
    }))
      expect([what, await shown(providerType, sent)]).toEqual([what, made]);
  },
);

test("an answer that announces calls or a pause and has neither words nor a call asks the fallback", async () => {
  const unreadable = { tool_calls: [{ index: 0, function: { arguments: "{}" } }] };
  for (const [providerType, sent] of [
    ["custom", chat("tool_calls", { role: "assistant", content: "" })],
    ["custom", chat("tool_calls", { reasoning_content: "I shall call." })],
    ["openai", chat("tool_calls", unreadable)],
    ["openrouter", chat("function_call", { function_call: "write_todos" })],
    ["custom", chat("tool_calls", { tool_calls: "write_todos" })],
    ["anthropic", anthropic("pause_turn")],
    ["anthropic", anthropic("tool_use", thought(0, "I shall call."))],
    ["anthropic", anthropic("pause_turn", thought(0, "I shall call."))],
  ] as const)
    expect([providerType, sent, await shown(providerType, sent)]).toEqual([providerType, sent, failed]);
});

test("one with words, or with a call that is refused, asks none; nor does one that says it has ended", async () => {
  expect(await shown("custom", chat("tool_calls", { content: "Half of it" }))).toEqual(spoken);
  expect(await shown("anthropic", anthropic("pause_turn", said(0, "Half of it")))).toEqual(spoken);
  expect(await shown("custom", chat("stop", { content: "" }))).toEqual({ status: 201, texts: "", calls: [] });
  const unknown = { tool_calls: [{ index: 0, id: "call_0", function: { name: "nobody_has_it", arguments: "{}" } }] };
  const told = { status: 201, texts: "Done.", calls: ["dynamic-tool output-error"] };
  expect(await shown("custom", chat("tool_calls", unknown))).toEqual(told);
});
