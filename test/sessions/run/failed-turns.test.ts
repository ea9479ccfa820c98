import { afterAll, describe, expect, test } from "bun:test";
import { listen } from "../../../src/kernel/runtime.ts";
import { useAgent } from "../../harness/fixture.ts";
import { type ApiResponse, eventually, startHarness } from "../../harness/harness.ts";
import { makeAgent, userMessage } from "../../harness/seed.ts";
import { statusAndCode } from "../../harness/status-and-code.ts";
import {
  type Chunk,
  messagesOf,
  type Played,
  play,
  requestsOf,
  script,
  sessionPath,
  textOf,
  usageOf,
} from "../../harness/turns.ts";

const key = "sk-secret-0123456789abcdef";

const { h, t, agentId } = await useAgent({ worker: true });
/** A provider that quotes the key it was sent in whatever it answers. */
const telltale = listen({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    const { messages } = (await request.json()) as { messages: { content: string }[] };
    const said = `Incorrect API key provided: ${request.headers.get("authorization")}, for ${JSON.stringify(messages)}`;
    const how = messages.at(-1)?.content ?? "";
    if (how === "html") return new Response(`<h1>${said}</h1>`, { status: 502 });
    if (how === "event")
      return new Response(`data: ${JSON.stringify({ error: { message: said, code: 400 } })}\n\n`, {
        headers: { "content-type": "text/event-stream" },
      });
    if (how === "garbage")
      return new Response(`data: {"${said}\n\n`, { headers: { "content-type": "text/event-stream" } });
    if (how === "redirect") return Response.redirect(`http://127.0.0.1:1/?${encodeURIComponent(said)}`);
    return Response.json({ error: { message: said, type: "invalid_request_error" } }, { status: Number(how) });
  },
});
const telltaleAgent = await agentAt(`http://127.0.0.1:${telltale.port}/v1`);
/** An agent whose provider has gone away altogether. */
const strandedAgent = await agentAt("http://127.0.0.1:9/v1");
afterAll(() => telltale.stop(true));

async function agentAt(baseUrl: string): Promise<string> {
  const provider = await t.call("POST", "/v1/providers", {
    body: { name: crypto.randomUUID(), providerType: "custom", baseUrl, apiKey: key },
  });
  return makeAgent(h, t, { providerId: provider.body.id });
}

/** How a failed turn's stream must end. */
function expectErrorEnd(played: Played, status: number, text: string): void {
  expect([played.status, played.chunks[0]?.type]).toEqual([status, "start"]);
  expect(played.chunks.at(-1)).toEqual({ type: "error", errorText: text });
  expect(played.chunks.filter(({ type }) => type === "error" || type === "finish" || type === "abort")).toHaveLength(1);
  expect(played.body).toEndWith("data: [DONE]\n\n");
}

const answered = (status: number) => `The model provider answered with status ${status}.`;
const brokeOff = "The model provider's answer broke off.";
const forms = ["a", "b"] as const;
const inBoth = <T extends readonly unknown[]>(rows: readonly T[]) =>
  forms.flatMap((form) => rows.map((row) => [form, ...row] as const));
/** A cut takes what the reader has not read yet with it, so there is a pause before it. */
const failures: [what: string, script: string, text: string, shown: string][] = [
  ["401", "fail=401", answered(401), ""],
  ["400", "fail=400", answered(400), ""],
  ["500, tried twice", "fail=500", answered(500), ""],
  ["429, tried twice", "fail=429 retryAfter=1", answered(429), ""],
  [
    "an error in the middle",
    'text="one two three" failAfterChunks=2 delayMs=1',
    "The model provider failed.",
    "one two ",
  ],
  ["a connection that is cut", 'text="one two three" cutAfterChunks=2 delayMs=1000', brokeOff, "one "],
  ["an empty stream", "emptyStream", brokeOff, ""],
];

describe("turns that fail", () => {
  test.concurrent.each(inBoth(failures))("form %s, first turns: %s", async (form, _what, text, errorText, shown) => {
    const [streamed, waited] = await Promise.all([
      play(t, agentId, null, { message: script(text) }, { form }),
      play(t, agentId, null, { message: script(text), stream: false, userId: form }, { form }),
    ]);
    expectErrorEnd(streamed, 201, errorText);
    expect(textOf(streamed.chunks)).toStartWith(shown);
    expect(statusAndCode(waited)).toEqual([502, "provider_error"]);
    expect([waited.body.error.message, waited.headers.get("api-form")]).toEqual([errorText, form]);
    expect(waited.turnId).toMatch(/^turn_/);
    for (const { turnId } of [streamed, waited]) expect(await usageOf(h, turnId)).not.toBeNull();
    const stored = await t.call("GET", sessionPath(agentId, streamed.sessionId, "/messages"));
    if (form === "a") expect(statusAndCode(stored)).toEqual([404, "not_found"]);
    else expect([stored.status, stored.body.data]).toEqual([200, []]);
  });

  test.concurrent.each(inBoth(failures))(
    "form %s, later turns: %s; the transcript is as it was, and goes on",
    async (form, _what, text, errorText) => {
      const { sessionId } = await play(t, agentId, null, { message: userMessage("hi"), stream: false }, { form });
      const before = await messagesOf(t, agentId, sessionId);
      const streamed = await play(t, agentId, sessionId, { message: script(text) }, { form });
      expectErrorEnd(streamed, 200, errorText);
      expect(await messagesOf(t, agentId, sessionId)).toEqual(before);
      const next = script('text="fine"');
      expect((await play(t, agentId, sessionId, { message: next, stream: false }, { form })).status).toBe(200);
      const usage = await t.call("GET", `/v1/usage?groupBy=session&sessionId=${sessionId}`);
      expect(usage.body.totals.requestCount).toBe(3);
    },
  );

  test.concurrent.each(forms)("502 provider_error: form %s, a provider that cannot be reached", async (form) => {
    const waited = await play(t, strandedAgent, null, { message: userMessage("hi"), stream: false }, { form });
    expect(statusAndCode(waited)).toEqual([502, "provider_error"]);
    expect(waited.body.error.message).toBe("The model provider cannot be reached.");
  });

  test.concurrent.each(forms)(
    "502 provider_error: form %s, no text of it holds the key or the prompt, and no row does",
    async (form) => {
      const hows = ["400", "401", "403", "404", "422", "html", "event", "garbage", "redirect"];
      await Promise.all(
        hows.map(async (how) => {
          const message = { ...userMessage(how), id: crypto.randomUUID() };
          const streaming = play(t, telltaleAgent, null, { message }, { form });
          const waited = await play(t, telltaleAgent, null, { message, stream: false }, { form });
          expect(statusAndCode(waited)).toEqual([502, "provider_error"]);
          const streamed = await streaming;
          expect([how, streamed.chunks.at(-1)?.type]).toEqual([how, "error"]);
          for (const { body } of [streamed, waited]) {
            expect(JSON.stringify(body)).not.toContain("secret");
            expect(JSON.stringify(body)).not.toContain("Incorrect API key");
          }
        }),
      );
      const [row] = await h.sql`select count(*) as leaks from turns where turns::text like ${`%${key}%`}`;
      expect(row?.leaks).toBe(0);
    },
  );
});

describe("finish reasons and tokens", () => {
  test.each([
    ["length", "length"],
    ["content_filter", "content-filter"],
    ["never_heard_of", "other"],
  ])("an answer that ends for %s is an answer", async (finish, reason) => {
    const made = await play(t, agentId, null, { message: script(`text="cut off" finish=${finish}`) });
    expect(made.chunks.at(-1)).toMatchObject({ type: "finish", finishReason: reason });
    expect(await messagesOf(t, agentId, made.sessionId)).toHaveLength(2);
  });

  test("a provider that reports no usage: the turn is metered by its bytes", async () => {
    const made = await play(t, agentId, null, { message: script("text=a usage=none"), stream: false });
    const used = await usageOf(h, made.turnId);
    expect([made.status, used?.outputTokens]).toEqual([201, 1]);
    expect(used?.inputTokens).toBeGreaterThan(0);
  });

  test("a turn that fails after a step is metered with what that step used", async () => {
    const message = script("tool=nothing inputTokens=30 outputTokens=7; fail=401");
    const made = await play(t, agentId, null, { message });
    expectErrorEnd(made, 201, answered(401));
    expect(await usageOf(h, made.turnId)).toMatchObject({ inputTokens: 30, outputTokens: 7 });
  });

  test("a call of a tool that does not exist is told to the model and the turn goes on", async () => {
    const message = script('tool=nothing args={"a":1} text="before"; text="after"');
    const made = await play(t, agentId, null, { message });
    const failed = made.chunks.find(({ type }) => type === "tool-input-error") as Chunk;
    expect(failed.errorText).toContain("nothing");
    expect(made.chunks.at(-1)).toMatchObject({ type: "finish" });
    const [, second] = requestsOf(h, message);
    expect(JSON.stringify(second?.body)).toContain(JSON.stringify(failed.errorText).slice(1, -1));
  });
});

describe("turns whose means went away after acceptance", () => {
  test("404 provider_not_found: gone by the time the turn runs, in both forms, as an error chunk when streamed", async () => {
    const quiet = await startHarness();
    try {
      const own = await quiet.tenant();
      const agent = await makeAgent(quiet, own);
      const sent = [
        play(own, agent, null, { message: userMessage("x") }),
        play(own, agent, null, { message: userMessage("x"), stream: false }),
        play(own, agent, null, { message: userMessage("x"), stream: false }, { form: "a" }),
      ];
      await eventually(async () => (await quiet.sql`select 1 from turns`).length === 3);
      await quiet.sql`delete from providers`;
      const pool = await quiet.startWorkers();
      const [streamed, inB, inA] = await Promise.all(sent);
      expect(streamed?.chunks.at(-1)?.type).toBe("error");
      expect([statusAndCode(inB as ApiResponse), statusAndCode(inA as ApiResponse)]).toEqual([
        [404, "provider_not_found"],
        [404, "provider_not_found"],
      ]);
      await pool.drain(0);
    } finally {
      await quiet.stop();
    }
  });

  test("503 service_unavailable: a provider's key that cannot be unsealed fails the turn at once", async () => {
    const agent = await agentAt(h.model.url);
    await h.sql`update providers set sealed_key = ${Buffer.alloc(64)} where id =
      (select provider_id from agent_versions where agent_id = ${agent})`;
    const made = await play(t, agent, null, { message: userMessage("x"), stream: false });
    expect([...statusAndCode(made), made.body.error.message]).toEqual([
      503,
      "service_unavailable",
      "A stored secret cannot be opened right now. The operator has to give the service the key that it was sealed with.",
    ]);
    expect(await usageOf(h, made.turnId)).not.toBeNull();
  });
});

test("a transcript the provider would refuse never wedges the session", async () => {
  const made = await play(t, agentId, null, { message: userMessage("x"), stream: false });
  const parts = [{ type: "text", text: "a", providerMetadata: "not an object" }];
  const odd = await play(t, agentId, made.sessionId, { message: { ...userMessage("y"), parts }, stream: false });
  expect([200, 400, 502]).toContain(odd.status);
  expect((await play(t, agentId, made.sessionId, { message: userMessage("z"), stream: false })).status).toBe(200);
});
