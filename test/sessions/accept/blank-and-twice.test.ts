import { expect, test } from "bun:test";
import { useAgent } from "../../harness/fixture.ts";
import { makeProvider, userMessage } from "../../harness/seed.ts";
import { messagesOf, play, script, sessionPath } from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true });
const first = await play(t, agentId, null, { message: userMessage("hi"), stream: false });

const blanks = ["", " ", "\n\t", "\u00a0", "\u200b", "\u2060\ufeff", "\u3000", "\u3164", "\u00ad", "\u2800", "\u0085"];
const saying = (...texts: readonly string[]) => ({
  ...userMessage(""),
  parts: texts.map((text) => ({ type: "text" as const, text })),
});
const picture = { type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" };

test.each(blanks.map((text) => [JSON.stringify(text), text]))(
  "400 validation_failed: %s, at every door, and nothing is changed",
  async (_shown, text) => {
    const refused = async (method: string, path: string, body: object) => {
      const { status, body: told } = await t.call(method, path, { body });
      return [status, told.error?.code];
    };
    const no = [400, "validation_failed"];
    expect(await refused("POST", sessionPath(agentId, null), { message: saying(text) })).toEqual(no);
    expect(await refused("POST", sessionPath(agentId, first.sessionId), { message: saying(text, text) })).toEqual(no);
    expect(await refused("POST", `/v1/agents/${agentId}/generate`, { messages: [saying(text)] })).toEqual(no);
    const task = { agentId, name: "Nothing", prompt: text };
    expect((await refused("POST", "/v1/tasks", task))[0]).toBe(400);
    expect((await t.call("POST", "/v1/responses", { body: { model: agentId, input: text } })).status).toBe(400);
  },
);

test("a blank text beside a picture, or beside a word, is taken", async () => {
  for (const parts of [[{ type: "text", text: " " }, picture], saying("", "word").parts]) {
    const message = { ...userMessage(""), parts };
    const { status } = await t.call("POST", sessionPath(agentId, first.sessionId), {
      body: { message, stream: false },
    });
    expect(status).toBe(200);
  }
});

test("400 validation_failed: the id of a message that the session has already, with and without a key, and in its line", async () => {
  const message = userMessage("once");
  const held = await play(t, agentId, null, { message, stream: false });
  const path = sessionPath(agentId, held.sessionId);
  const again = { body: { message, stream: false } };
  const [stored] = (await messagesOf(t, agentId, held.sessionId)).slice(-1);
  for (const asked of [
    again,
    { ...again, headers: { "idempotency-key": crypto.randomUUID() } },
    { body: { ...again.body, onBusy: "enqueue" } },
    { body: { message: { ...message, id: stored.id } } },
  ]) {
    const { status, body } = await t.call("POST", path, asked);
    expect([status, body.error?.details?.issues?.[0]?.path]).toEqual([400, "/message/id"]);
  }
  expect(await messagesOf(t, agentId, held.sessionId)).toHaveLength(2);
  // Another session may have the same.
  expect((await play(t, agentId, null, { message, stream: false })).status).toBe(201);
});

test("the id of a message whose turn failed is free, and a repeated request joins its turn", async () => {
  const failing = script("error=500");
  const failed = await play(t, agentId, first.sessionId, { message: failing, stream: false });
  expect(failed.status).toBe(502);
  const message = { ...userMessage("again"), id: failing.id };
  const key = { headers: { "idempotency-key": crypto.randomUUID() } };
  const body = { message, stream: false };
  const taken = await play(t, agentId, first.sessionId, body, key);
  expect(taken.status).toBe(200);
  const repeated = await play(t, agentId, first.sessionId, body, key);
  expect([repeated.status, repeated.turnId]).toEqual([200, taken.turnId]);
});

test.each([
  "Bearer sk-0123456789",
  "bearer sk-0123456789",
  "Authorization: Bearer sk-0123456789",
  "x-api-key: sk-0123456789",
  '"sk-0123456789"',
  "OPENAI_API_KEY=sk-0123456789",
  "export ANTHROPIC_API_KEY=sk-ant",
  "Bearer: sk-1",
  "export X=sk-1",
  "set OPENAI_API_KEY=sk-1",
  "$OPENAI_API_KEY",
  "$" + "{OPENAI_API_KEY}",
  "$env:OPENAI_API_KEY",
  "%OPENAI_API_KEY%",
  "{{ secrets.KEY }}",
  "process.env.OPENAI_API_KEY",
  'os.environ["OPENAI_API_KEY"]',
  "OPENAI_API_KEY: sk-1",
  "api_key=sk-1",
  "<your key>",
  "[key]",
  "YOUR_API_KEY",
  "your-api-key-here",
  "****",
  "sk-abc def",
])("%s is no key of a provider", async (apiKey) => {
  const body = { name: "Pasted", providerType: "custom", baseUrl: h.model.url, apiKey };
  const { status, body: told } = await t.call("POST", "/v1/providers", { body });
  expect([status, told.error?.details?.issues?.[0]?.path]).toEqual([400, "/apiKey"]);
  expect(JSON.stringify(told)).not.toContain("sk-");
});

test("keys that only begin like such a word are keys", async () => {
  for (const apiKey of [
    "bearer-of-tokens",
    "token_123",
    "sk-proj-abc==",
    "a=b",
    "EMPTY",
    "sk-or-v1-$x",
    "your_team.key7",
  ])
    expect((await makeProvider(h, t, { apiKey })).id).toStartWith("prv_");
});

test.each(["reject", "enqueue", "interrupt"] as const)(
  "of ten messages with one id at once one is taken, onBusy %s, idle and behind a turn",
  async (onBusy) => {
    for (const isHeld of [false, true, false, true]) {
      const { sessionId } = await play(t, agentId, null, { message: userMessage("hi"), stream: false });
      const path = sessionPath(agentId, sessionId);
      const slow = { message: userMessage("[[sim: chunks=3 delayMs=60]]"), stream: false };
      const before = isHeld ? t.call("POST", path, { body: slow }) : null;
      const message = userMessage("once");
      const ask = () => t.call("POST", path, { body: { message, stream: false, onBusy } });
      const all = await Promise.all(Array.from({ length: 10 }, ask));
      await before;
      const taken = all.filter(({ status }) => status === 200);
      expect(taken.length).toBeLessThanOrEqual(1);
      expect(all.map(({ status }) => status).filter((status) => ![200, 400, 409].includes(status))).toEqual([]);
      const ids = (await messagesOf(t, agentId, sessionId)).map(({ id }: { id: string }) => id);
      expect(ids.filter((id: string) => id === message.id)).toHaveLength(taken.length);
    }
  },
);
