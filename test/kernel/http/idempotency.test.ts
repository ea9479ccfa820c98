import { describe, expect, test } from "bun:test";
import { purgeSession } from "../../../src/sessions/erase/session.ts";
import { useAgent } from "../../harness/fixture.ts";
import { type ApiResponse, eventually } from "../../harness/harness.ts";
import { holdModel, openEndedMark } from "../../harness/held-model.ts";
import { makeAgent, userMessage } from "../../harness/seed.ts";
import { statusAndCode } from "../../harness/status-and-code.ts";
import {
  messagesOf,
  open,
  type Played,
  play,
  readersOf,
  requestsOf,
  script,
  sessionPath,
} from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true });

const newKey = () => ({ "idempotency-key": crypto.randomUUID() });
/** A message whose script nobody else plays. */
const unique = (settings = "") => script(`text="${crypto.randomUUID()} one two" ${settings}`);
/** All of a response but the id of its request. */
function told({ status, body, headers }: ApiResponse): string {
  const said = body?.error === undefined ? body : { ...body.error, requestId: null };
  return JSON.stringify([status, said, headers.get("location"), headers.get("x-turn-id"), headers.get("content-type")]);
}

/** That all played the same one turn. */
async function expectOneTurn(all: readonly Played[], message: Parameters<typeof requestsOf>[1], status: number) {
  expect(all.map((response) => response.status)).toEqual(all.map(() => status));
  expect(new Set(all.map(told)).size).toBe(1);
  expect(requestsOf(h, message)).toHaveLength(1);
  const [row] = await h.sql`select count(*) as turns from usage where turn_id = ${all[0]?.turnId ?? ""}`;
  expect(row?.turns).toBe(1);
}

for (const form of ["a", "b"] as const) {
  for (const stream of [true, false]) {
    describe(`Idempotency-Key on turns, form ${form}, stream ${stream}`, () => {
      test("201: ten requests at once, and one after its end, are one turn of one session", async () => {
        const headers = newKey();
        const message = unique("delayMs=5");
        const send = () => play(t, agentId, null, { message, stream }, { form, headers });
        const all = await Promise.all(Array.from({ length: 10 }, send));
        all.push(await send());
        await expectOneTurn(all, message, 201);
        expect(await messagesOf(t, agentId, all[0]?.sessionId ?? "")).toHaveLength(2);
      });

      test("200: a repeat joins the running turn of its session instead of being busy", async () => {
        await using model = holdModel(h.model);
        const agent = await makeAgent({ model }, t);
        const { sessionId } = await play(t, agent, null, { message: userMessage("hi"), stream: false }, { form });
        const headers = newKey();
        const message = script(`text="${crypto.randomUUID()} ${openEndedMark}"`);
        const send = () => play(t, agent, sessionId, { message, stream }, { form, headers });
        const first = send();
        await eventually(() => requestsOf(h, message).length === 1);
        const busy = await play(t, agent, sessionId, { message, stream }, { form, headers: newKey() });
        expect(statusAndCode(busy)).toEqual([409, form === "a" ? "SESSION_BUSY" : "session_busy"]);
        const repeats = [send(), send()];
        await eventually(async () => (await readersOf(h)) === 3);
        model.release();
        const all = await Promise.all([first, ...repeats]);
        all.push(await send());
        await expectOneTurn(all, message, 200);
        expect(await messagesOf(t, agent, sessionId)).toHaveLength(4);
      });

      test("a turn that failed fails again the same way, and runs no second time", async () => {
        const headers = newKey();
        const message = unique("fail=401");
        const send = () => play(t, agentId, null, { message, stream }, { form, headers });
        await expectOneTurn([await send(), await send()], message, stream ? 201 : 502);
      });
    });
  }
}

for (const form of ["a", "b"] as const) {
  describe(`a turn that is deleted does not run again under its Idempotency-Key, form ${form}`, () => {
    type Ask = () => Promise<ApiResponse>;
    const expectReused = async (ask: Ask) => {
      const repeated = await ask();
      expect(statusAndCode(repeated)).toEqual([422, "idempotency_key_reused"]);
      expect(JSON.stringify(repeated.body)).toContain("is deleted");
    };
    const counts = async () => {
      const [rows] = await h.sql`
        select (select count(*)::int from turns) as turns, (select count(*)::int from sessions) as sessions`;
      return rows;
    };

    test("422 idempotency_key_reused: a session's first turn and a later one, at once, and once they are erased", async () => {
      const [message, later] = [unique(), unique()];
      const headers = newKey();
      const { sessionId } = await play(t, agentId, null, { message, stream: false }, { form, headers });
      const askWith = (id: string | null, asked: object, key: Record<string, string>): Ask => {
        const body = { message: asked, stream: false };
        return () => t.call("POST", sessionPath(agentId, id), { body, form, headers: key });
      };
      const asks = [askWith(null, message, headers), askWith(sessionId, later, newKey())];
      for (const ask of asks) expect((await ask()).status).toBeLessThan(300);
      const path = sessionPath(agentId, sessionId, form === "b" ? "?deleteArtifacts=false" : "");
      expect((await t.call("DELETE", path, { form })).status).toBe(204);
      for (const ask of asks) await expectReused(ask);
      await eventually(async () => (await h.sql`select 1 from sessions where id = ${sessionId}`).length === 0);
      const before = await counts();
      for (const ask of asks) await expectReused(ask);
      expect(await counts()).toEqual(before);
      for (const asked of [message, later]) expect(requestsOf(h, asked)).toHaveLength(1);
    });

    test("a stateless turn, and a turn in a session, of an agent that is deleted", async () => {
      const agent = await makeAgent(h, t);
      const [message, other] = [unique(), unique()];
      const [generateKey, turnKey] = [newKey(), newKey()];
      const generate: Ask = () => {
        const body = { messages: [message], stream: false };
        return t.call("POST", `/v1/agents/${agent}/generate`, { body, form, headers: generateKey });
      };
      const turn: Ask = () => {
        const body = { message: other, stream: false };
        return t.call("POST", sessionPath(agent, null), { body, form, headers: turnKey });
      };
      for (const ask of [generate, turn, generate, turn]) expect((await ask()).status).toBeLessThan(300);
      expect((await t.call("DELETE", `/v1/agents/${agent}`, { form })).status).toBeLessThan(300);
      for (const ask of [generate, turn]) await expectReused(ask);
      await eventually(async () => (await h.sql`select 1 from turns where agent_id = ${agent}`).length === 0);
      for (const ask of [generate, turn]) await expectReused(ask);
      for (const asked of [message, other]) expect(requestsOf(h, asked)).toHaveLength(1);
    });
  });
}

test("form A's session that went by itself because its first turn failed frees its Idempotency-Key", async () => {
  const message = unique("fail=400");
  const headers = newKey();
  const send = () => play(t, agentId, null, { message }, { form: "a", headers });
  const first = await send();
  expect((await send()).sessionId).toBe(first.sessionId);
  expect(requestsOf(h, message)).toHaveLength(1);
  await purgeSession(h.ctx, { sessionId: first.sessionId, tenantId: t.id });
  expect((await send()).sessionId).not.toBe(first.sessionId);
  expect(requestsOf(h, message)).toHaveLength(2);
});

describe("Idempotency-Key on turns", () => {
  test("422 idempotency_key_reused: another body, path, form or operation under the same key; nothing is saved", async () => {
    const headers = newKey();
    const message = unique();
    const made = await play(t, agentId, null, { message, stream: false }, { headers });
    const count = async () => (await h.sql`select count(*) as turns from turns`)[0]?.turns;
    const before = await count();
    const others: [string, object, "a" | "b"][] = [
      [sessionPath(agentId, null), { message }, "b"],
      [sessionPath(agentId, null), { message: unique(), stream: false }, "b"],
      [sessionPath(agentId, null), { message, stream: false }, "a"],
      [sessionPath(agentId, made.sessionId), { message, stream: false }, "b"],
      [`/v1/agents/${agentId}/generate`, { messages: [message], stream: false }, "b"],
      ["/v1/prompts", { name: "x", template: "y" }, "b"],
    ];
    for (const [path, body, form] of others)
      expect(statusAndCode(await t.call("POST", path, { body, form, headers }))).toEqual([
        422,
        "idempotency_key_reused",
      ]);
    expect(await count()).toBe(before);
    const prompt = newKey();
    await t.call("POST", "/v1/prompts", { body: { name: crypto.randomUUID(), template: "y" }, headers: prompt });
    const turn = await t.call("POST", sessionPath(agentId, null), { body: { message }, headers: prompt });
    expect(statusAndCode(turn)).toEqual([422, "idempotency_key_reused"]);
  });

  test("the same JSON written anew, its fields in another order, is the same request", async () => {
    const headers = newKey();
    const send = (body: string) => t.call("POST", "/v1/prompts", { body, headers });
    const made = await send('{"name":"order","template":"x","metadata":{"a":[{"b":1,"c":2}],"d":null}}');
    const again = await send('{ "metadata": {"d":null, "a":[{"c":2,"b":1.0}]}, "template":"x", "name":"order" }');
    expect([made.status, again.status, again.body]).toEqual([201, 201, made.body]);
    const another = await send('{"name":"order","template":"x","metadata":{"a":[{"b":2,"c":1}],"d":null}}');
    expect(statusAndCode(another)).toEqual([422, "idempotency_key_reused"]);

    const turnHeaders = newKey();
    const message = unique();
    const { id, role, parts } = message;
    const first = await play(t, agentId, null, { message, stream: false }, { headers: turnHeaders });
    const second = await play(
      t,
      agentId,
      null,
      { stream: false, message: { parts, role, id } },
      { headers: turnHeaders },
    );
    await expectOneTurn([first, second], message, 201);
  });

  test("422 idempotency_key_reused: another body while the first still runs", async () => {
    const headers = newKey();
    const body = { message: unique("hangAfterChunks=1") };
    const live = await open(h, t, "POST", sessionPath(agentId, null), { body, headers });
    await live.until("text-delta");
    const other = await t.call("POST", sessionPath(agentId, null), { body: { message: unique() }, headers });
    expect(statusAndCode(other)).toEqual([422, "idempotency_key_reused"]);
    await t.call("POST", sessionPath(agentId, live.sessionId, "/cancel"));
    await live.rest();
  });

  test("a key is its tenant's own", async () => {
    const other = await h.tenant();
    const agent = await makeAgent(h, other);
    const headers = newKey();
    const mine = await play(t, agentId, null, { message: unique(), stream: false }, { headers });
    const theirs = await play(other, agent, null, { message: unique(), stream: false }, { headers });
    expect([mine.status, theirs.status]).toEqual([201, 201]);
    expect(theirs.turnId).not.toBe(mine.turnId);
  });

  test("a refused request uses up no key", async () => {
    const headers = newKey();
    const refused = await play(t, agentId, null, { message: unique(), version: 9 }, { headers });
    expect(refused.status).toBe(404);
    expect((await play(t, agentId, null, { message: unique(), stream: false }, { headers })).status).toBe(201);
  });

  test("a repeat gets its response although the agent was disabled or the quota is used up since", async () => {
    const own = await h.tenant();
    const agent = await makeAgent(h, own);
    const headers = newKey();
    const body = { message: unique(), stream: false };
    const first = await play(own, agent, null, body, { headers });
    await h.sql`update tenants set quota_turns_per_day = 0 where id = ${own.id}`;
    await own.call("POST", `/v1/agents/${agent}/disable`);
    expect(told(await play(own, agent, null, body, { headers }))).toBe(told(first));
  });

  test("a repeat returns the model's message, also when a user sent one under the same id since", async () => {
    const headers = newKey();
    const body = { message: unique(), stream: false };
    const first = await play(t, agentId, null, body, { headers });
    const { id } = first.body.message;
    await play(t, agentId, first.sessionId, { message: { ...userMessage("x"), id }, stream: false });
    await play(t, agentId, first.sessionId, { message: userMessage("y"), stream: false });
    expect(told(await play(t, agentId, null, body, { headers }))).toBe(told(first));
  });

  test("404 message_not_found: an answer that a regeneration has cut away since", async () => {
    const headers = newKey();
    const body = { message: unique(), stream: false };
    const first = await play(t, agentId, null, body, { headers });
    await play(t, agentId, first.sessionId, { trigger: "regenerate-message", stream: false });
    const again = await play(t, agentId, null, body, { headers });
    expect([...statusAndCode(again), again.turnId]).toEqual([404, "message_not_found", first.turnId]);
    expect(requestsOf(h, body.message)).toHaveLength(2);
  });

  test("409 turn_canceled: again, for a key whose turn was cancelled before it ran", async () => {
    const headers = newKey();
    const body = { message: unique("hangAfterChunks=0"), stream: false };
    const first = play(t, agentId, null, body, { headers });
    const [row] = await eventually(async () => {
      const rows = await h.sql`select session_id from turns where input::text like ${`%${body.message.id}%`}`;
      return rows.length > 0 ? rows : null;
    });
    await t.call("POST", sessionPath(agentId, row?.sessionId, "/cancel"));
    expect(statusAndCode(await first)).toEqual([409, "turn_canceled"]);
    expect(statusAndCode(await play(t, agentId, null, body, { headers }))).toEqual([409, "turn_canceled"]);
  });
});
