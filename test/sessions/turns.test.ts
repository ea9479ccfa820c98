import { describe, expect, test } from "bun:test";
import { useAgent } from "../harness/fixture.ts";
import { makeAgent, makeProvider, sseEvents, userMessage } from "../harness/seed.ts";
import { conversationOf, messagesOf, open, play, script, sessionPath, textOf } from "../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true });

const forms = ["a", "b"] as const;
const pixel =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

for (const form of forms) {
  describe(`POST /v1/agents/:agentId/sessions, form ${form}`, () => {
    test("201 streams by default, with every header, one id per event and [DONE] at the end", async () => {
      const made = await play(t, agentId, null, { message: script('text="Hello there you" chunks=3') }, { form });
      expect(made.status).toBe(201);
      const { headers } = made;
      expect(headers.get("content-type")).toBe("text/event-stream");
      expect(headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
      expect(headers.get("cache-control")).toBe("no-cache");
      expect(headers.get("x-accel-buffering")).toBe("no");
      expect(headers.get("api-form")).toBe(form);
      expect(headers.get("x-request-id")).toMatch(/^req_/);
      expect(made.turnId).toMatch(/^turn_[0-9a-z]{24}$/);
      expect(headers.get("location")).toMatch(new RegExp(`^/v1/agents/${agentId}/sessions/ss_[0-9a-z]{24}$`));

      const events = sseEvents(made.body);
      expect(events.at(-1)).toEqual({ id: null, data: "[DONE]" });
      expect(events.slice(0, -1).map(({ id }) => id)).toEqual(made.chunks.map((_, index) => `${made.turnId}:${index}`));
      expect(made.chunks.map(({ type }) => type)).toEqual([
        "start",
        "start-step",
        "text-start",
        ...["text-delta", "text-delta", "text-delta"],
        "text-end",
        "finish-step",
        "finish",
      ]);
      expect(textOf(made.chunks)).toBe("Hello there you");
    });

    test("201 with stream false returns the whole message, as it is stored under the id that start names", async () => {
      const message = script('text="Hello there"');
      const made = await play(t, agentId, null, { message, stream: false }, { form });
      expect(made.status).toBe(201);
      expect(made.headers.get("content-type")).toStartWith("application/json");
      expect(Object.keys(made.body)).toEqual(["message", "finishReason"]);
      expect(made.body.message).toEqual({
        id: expect.stringMatching(/^msg_[0-9a-z]{24}$/),
        role: "assistant",
        parts: [{ type: "step-start" }, { type: "text", text: "Hello there", state: "done" }],
        metadata: { finishReason: "stop" },
      });
      expect(await messagesOf(t, agentId, made.sessionId)).toEqual([message, made.body.message]);

      const streamed = await play(
        t,
        agentId,
        made.sessionId,
        { message: userMessage("again"), stream: true },
        { form },
      );
      const stored = await messagesOf(t, agentId, made.sessionId);
      expect(streamed.chunks[0]).toEqual({ type: "start", messageId: stored[3].id });
    });
  });

  describe(`POST /v1/agents/:agentId/sessions/:sessionId, form ${form}`, () => {
    test("200 goes on with the whole transcript, without a Location", async () => {
      const first = await play(t, agentId, null, { message: userMessage("My name is Ada."), stream: false }, { form });
      const message = script('text="Second answer"');
      const second = await play(t, agentId, first.sessionId, { message }, { form });
      expect(second.status).toBe(200);
      expect(second.headers.get("location")).toBeNull();
      expect(second.turnId).not.toBe(first.turnId);
      expect(second.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
      expect(textOf(second.chunks)).toBe("Second answer");
      const third = await play(t, agentId, first.sessionId, { message: userMessage("third"), stream: false }, { form });
      expect(third.status).toBe(200);
      expect(third.headers.get("location")).toBeNull();
      expect(third.body.message.role).toBe("assistant");

      const sent = conversationOf(h, message);
      expect(sent.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
      expect(JSON.stringify(sent[0])).toContain("My name is Ada.");
      expect(await messagesOf(t, agentId, first.sessionId)).toHaveLength(6);
    });
  });
}

describe("turns: what a session keeps", () => {
  test("userId and metadata are the first turn's; the usage has the session's userId and the turn's metadata", async () => {
    const first = await play(t, agentId, null, {
      message: userMessage("hi"),
      userId: "ada",
      metadata: { a: 1 },
      stream: false,
    });
    const second = await play(t, agentId, first.sessionId, {
      message: userMessage("hi"),
      userId: "bob",
      metadata: { b: 2 },
      stream: false,
    });
    expect(second.status).toBe(200);
    const list = await t.call("GET", `${sessionPath(agentId, null)}?userId=ada`);
    expect(list.body.data.map((session: { id: string }) => session.id)).toEqual([first.sessionId]);
    expect(list.body.data[0]).toMatchObject({ userId: "ada", metadata: { a: 1 }, agentVersion: null });
    const usage = await h.sql`
      select user_id, metadata from usage where session_id = ${first.sessionId} order by created_at`;
    expect(usage.map((row) => [row.userId, row.metadata])).toEqual([
      ["ada", { a: 1 }],
      ["ada", { b: 2 }],
    ]);
  });

  test("a pinned session stays on its version, an unpinned one takes the agent's current one every turn", async () => {
    const agent = await makeAgent(h, t, { instructions: "Version one." });
    const pinned = await play(t, agent, null, { message: userMessage("pinned"), version: 1, stream: false });
    const loose = await play(t, agent, null, { message: userMessage("loose"), stream: false });
    expect((await t.call("PUT", `/v1/agents/${agent}`, { body: { instructions: "Version two." } })).status).toBe(200);
    const ask = async (sessionId: string) => {
      const message = script(`text="${crypto.randomUUID()}"`);
      await play(t, agent, sessionId, { message, stream: false });
      return conversationOf(h, message)[0];
    };
    expect(await ask(pinned.sessionId)).toEqual({ role: "system", content: "Version one." });
    expect(await ask(loose.sessionId)).toEqual({ role: "system", content: "Version two." });
    const list = await t.call("GET", sessionPath(agent, null));
    const versions = list.body.data.map((s: { id: string; agentVersion: number | null }) => [s.id, s.agentVersion]);
    expect(Object.fromEntries(versions)).toEqual({ [pinned.sessionId]: 1, [loose.sessionId]: null });
  });

  test("a prompt is stored and sent as rendered text only", async () => {
    const prompt = await t.call("POST", "/v1/prompts", {
      body: { name: crypto.randomUUID(), template: "Dear {{name}}, {{rest}} {{ name }}." },
    });
    const variables = { name: "{{rest}}", rest: "" };
    const made = await play(t, agentId, null, { promptId: prompt.body.id, variables, stream: false });
    expect(made.status).toBe(201);
    const [asked] = await messagesOf(t, agentId, made.sessionId);
    expect(asked).toEqual({
      id: expect.stringMatching(/^msg_[0-9a-z]{24}$/),
      role: "user",
      parts: [{ type: "text", text: "Dear {{rest}},  {{ name }}." }],
    });
  });

  test("pictures go to the model and are stored as they were sent", async () => {
    const message = {
      id: "picture",
      role: "user",
      parts: [
        { type: "text", text: "What is this?" },
        { type: "file", mediaType: "image/png", url: pixel, filename: "p.png", note: { kept: true } },
        { type: "file", mediaType: "image/jpeg", url: "https://pictures.invalid/one.jpg" },
      ],
    };
    // This provider type takes URLs, so that nothing has to be fetched.
    const direct = await t.call("POST", "/v1/providers", {
      body: { name: crypto.randomUUID(), providerType: "llm_vendor_a", baseUrl: h.model.url, apiKey: "sk-test" },
    });
    const agentId = await makeAgent(h, t, { providerId: direct.body.id, model: "openai/simulated/model" });
    const made = await play(t, agentId, null, { message, stream: false });
    expect(made.status).toBe(201);
    const stored = await messagesOf(t, agentId, made.sessionId);
    expect(stored[0]).toEqual(message);
    expect(stored[1].parts[1].text).toContain("2 pictures");
  });

  test("502 provider_error: a picture that cannot be fetched fails the turn, and says so", async () => {
    const url = "https://pictures.invalid/one.jpg";
    const message = { ...userMessage("this"), parts: [{ type: "file", mediaType: "image/jpeg", url }] };
    const made = await play(t, agentId, null, { message, stream: false });
    expect([made.status, made.body.error.code]).toEqual([502, "provider_error"]);
    expect(made.body.error.message).toBe("A picture of the message cannot be fetched.");
  });

  test("a picture of an earlier message that cannot be fetched any more fails no later turn", async () => {
    const direct = await t.call("POST", "/v1/providers", {
      body: { name: crypto.randomUUID(), providerType: "llm_vendor_a", baseUrl: h.model.url, apiKey: "sk-test" },
    });
    const agentId = await makeAgent(h, t, { providerId: direct.body.id, model: "openai/simulated/model" });
    const url = "https://pictures.invalid/gone.jpg";
    const message = { ...userMessage("this"), parts: [{ type: "file", mediaType: "image/jpeg", url }] };
    const made = await play(t, agentId, null, { message, stream: false });
    expect(made.status).toBe(201);
    const custom = await makeProvider(h, t);
    const moved = await t.call("PUT", `/v1/agents/${agentId}`, { body: { providerId: custom.id, model: "m" } });
    expect(moved.status).toBe(200);
    const next = await play(t, agentId, made.sessionId, { message: userMessage("and now?"), stream: false });
    expect(next.status).toBe(200);
  });

  test("a message is stored verbatim, byte for byte: order of fields, blanks, CR LF, emoji, further fields", async () => {
    const message = {
      role: "user",
      parts: [
        { text: " a\r\nb\rc\n\t\u2028 👩‍👩‍👧 \u200b ", extra: [1.5, null, { z: 1, a: 2 }], type: "text" },
        { type: "text", text: "", providerMetadata: { acme: { x: 1 } } },
      ],
      metadata: { z: "1", a: ["2"] },
      id: " id with blanks ",
    };
    const made = await play(t, agentId, null, { message, stream: false });
    expect(made.status).toBe(201);
    const page = await h.app(
      new Request(`http://parley.test${sessionPath(agentId, made.sessionId, "/messages")}`, {
        headers: { authorization: `Bearer ${t.token}` },
      }),
    );
    expect(await page.text()).toContain(JSON.stringify(message));
  });

  test("an answer without text leaves a session that goes on", async () => {
    const made = await play(t, agentId, null, { message: script('text=""'), stream: false });
    expect([made.status, made.body.message?.parts]).toEqual([201, [{ type: "step-start" }]]);
    const message = script('text="fine"');
    expect((await play(t, agentId, made.sessionId, { message, stream: false })).status).toBe(200);
    expect(conversationOf(h, message).filter(({ role, content }) => role === "assistant" && !content)).toEqual([]);
  });
});

describe("turns: the form", () => {
  test("a tenant's default form holds where no API-Form is sent, and either form reads what the other made", async () => {
    const old = await h.tenant({ form: "a" });
    const agent = await makeAgent(h, old);
    const inA = await old.call("POST", sessionPath(agent, null), { body: {} });
    expect([inA.status, inA.body.error.code, inA.headers.get("api-form")]).toEqual([400, "invalid_request", "a"]);
    const made = await play(old, agent, null, { message: userMessage("hi"), stream: false });
    expect([made.status, made.headers.get("api-form")]).toEqual([201, "a"]);
    const next = await play(old, agent, made.sessionId, { message: userMessage("hi"), stream: false }, { form: "b" });
    expect([next.status, next.headers.get("api-form")]).toEqual([200, "b"]);
    expect(await messagesOf(old, agent, made.sessionId)).toHaveLength(4);
  });

  test("a session can be seen from acceptance on in form B, after its first success in form A", async () => {
    const seen = async (sessionId: string) => {
      const list = await t.call("GET", `${sessionPath(agentId, null)}?userId=${sessionId}`);
      const messages = await t.call("GET", sessionPath(agentId, sessionId, "/messages"));
      return [list.body.data.length, messages.status];
    };
    for (const form of forms) {
      const live = await open(h, t, "POST", sessionPath(agentId, null), {
        form,
        body: { message: script('text="one two" hangAfterChunks=1'), userId: "watcher" },
      });
      await live.until("text-delta");
      const list = await t.call("GET", `${sessionPath(agentId, null)}?userId=watcher`);
      const messages = await t.call("GET", sessionPath(agentId, live.sessionId, "/messages"));
      expect([list.body.data.length, messages.status]).toEqual(form === "b" ? [1, 200] : [0, 404]);
      if (form === "b") expect(messages.body).toEqual({ data: [], nextCursor: null, latestCursor: null });
      await t.call("POST", sessionPath(agentId, live.sessionId, "/cancel"));
      await live.rest();
      expect(await seen(live.sessionId)).toEqual([0, form === "b" ? 200 : 404]);
      const failed = await t.call("POST", sessionPath(agentId, null), {
        form,
        body: { message: script("fail=400"), stream: false },
      });
      const location = failed.headers.get("location");
      expect([failed.status, location === null]).toEqual([502, form === "a"]);
      if (location !== null) expect((await t.call("GET", location)).status).toBe(200);
      await t.call("DELETE", sessionPath(agentId, live.sessionId, "?deleteArtifacts=false"));
    }
  });
});
