import { describe, expect, test } from "bun:test";
import { makeClientToken } from "../harness/client-tokens.ts";
import { useService } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";
import { messagesOf, open, play, requestsOf, script, sessionPath } from "../harness/turns.ts";

const h = await useService({ worker: true });
const t = await h.tenant();
const agent = await makeAgent(h, t);
const retry = (turnId: string, body: object = { stream: false }) =>
  t.call("POST", `/v1/turns/${turnId}/retry`, { body });
const inputOf = async (turnId: string) => (await t.call("GET", `/v1/turns/${turnId}/input`)).body;

describe("what a turn was asked", () => {
  test("is read of one that failed, that was canceled, and of a generation", async () => {
    const message = script("fail=400");
    const failed = await play(t, agent, null, { message });
    expect(await inputOf(failed.turnId)).toEqual({ message });
    const messages = [userMessage("hi")];
    const { headers } = await t.call("POST", `/v1/agents/${agent}/generate`, { body: { messages, stream: false } });
    expect(await inputOf(headers.get("x-turn-id") ?? "")).toMatchObject({ messages });
  });

  test("is the message in the transcript for a regeneration", async () => {
    const message = userMessage("hi");
    const { sessionId } = await play(t, agent, null, { message });
    const again = await play(t, agent, sessionId, { trigger: "regenerate-message" });
    expect(await inputOf(again.turnId)).toEqual({ message });
  });

  test("goes with its session, and is not another tenant's", async () => {
    const { turnId, sessionId } = await play(t, agent, null, { message: script("fail=400") });
    const other = await h.tenant();
    expect((await other.call("GET", `/v1/turns/${turnId}/input`)).status).toBe(404);
    const holder = await makeClientToken(t, { agentId: agent, userId: "bert" });
    expect((await holder.call("GET", `/v1/turns/${turnId}/input`)).status).toBe(404);
    await t.call("DELETE", `${sessionPath(agent, sessionId)}?deleteArtifacts=false`);
    const gone = await t.call("GET", `/v1/turns/${turnId}/input`);
    expect([gone.status, gone.body.error.message]).toEqual([404, "There is no such turn."]);
  });
});

describe("a turn that is run again", () => {
  test("asks the same with the same user, schema and metadata, and answers as a further turn of the session", async () => {
    const message = script('text="one" failFirst=1 fail=400');
    const responseFormat = { type: "json_schema", schema: { type: "object" } };
    const asked = { message, userId: "anna", metadata: { plan: "pro" }, responseFormat };
    const failed = await play(t, agent, null, { ...asked, message: script("fail=400") });
    await h.sql`update turns set input = ${JSON.stringify(userMessage("hi"))}::text::json where id = ${failed.turnId}`;
    const streamed = await retry(failed.turnId, {});
    expect([streamed.status, streamed.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    const [row] = await h.sql`
      select user_id, metadata, response_format, session_id from turns where id = ${streamed.headers.get("x-turn-id")}`;
    expect(row).toMatchObject({ userId: "anna", metadata: { plan: "pro" }, sessionId: failed.sessionId });
    expect(row?.responseFormat).toMatchObject(responseFormat);
  });

  test("keeps the message's id where the transcript does not have it", async () => {
    const message = script("fail=400");
    const { turnId, sessionId } = await play(t, agent, null, { message });
    expect((await retry(turnId)).status).toBe(502);
    expect(requestsOf(h, message).length).toBeGreaterThan(1);
    expect(await messagesOf(t, agent, sessionId)).toEqual([]);
    const [row] =
      await h.sql`select input ->> 'id' as id from turns where session_id = ${sessionId} order by accepted_at desc limit 1`;
    expect(row?.id).toBe(message.id);
  });

  test("follows what was kept of it", async () => {
    const message = script('text="one two" hangAfterChunks=1');
    const stream = await open(h, t, "POST", sessionPath(agent, null), { body: { message } });
    await stream.until("text-delta");
    await t.call("POST", sessionPath(agent, stream.sessionId, "/cancel"), { body: { keep: "partial" } });
    await stream.rest();
    await h.sql`update turns set input = ${JSON.stringify({ ...userMessage("hi"), id: message.id })}::text::json where id = ${stream.turnId}`;
    const again = await retry(stream.turnId);
    expect(again.status).toBe(200);
    const messages = await messagesOf(t, agent, stream.sessionId);
    expect(messages.map(({ role }: { role: string }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(messages[0].id).toBe(message.id);
    expect(messages[2].id).not.toBe(message.id);
  });

  test("409 turn_not_failed: one that succeeded, one of a generation", async () => {
    const good = await play(t, agent, null, { message: userMessage("hi") });
    const { headers } = await t.call("POST", `/v1/agents/${agent}/generate`, {
      body: { messages: [script("fail=400")], stream: false },
    });
    for (const id of [good.turnId, headers.get("x-turn-id") ?? ""]) {
      const { status, body } = await retry(id);
      expect([status, body.error.code]).toEqual([409, "turn_not_failed"]);
    }
  });

  test("of ten at once one runs, and the others are told what the session waits for", async () => {
    const { turnId, sessionId } = await play(t, agent, null, { message: script("fail=400") });
    const hanging = script('text="one two" hangAfterChunks=1');
    await h.sql`update turns set input = ${JSON.stringify(hanging)}::text::json where id = ${turnId}`;
    let answered = 0;
    const tries = Array.from({ length: 10 }, () => retry(turnId).finally(() => void answered++));
    const running = await eventually(async () => {
      const [row] = await h.sql`select id from turns where session_id = ${sessionId} and status = 'running'`;
      return row?.id as string | undefined;
    });
    const first = await Promise.race(tries);
    expect(first.status).toBe(409);
    expect(first.body.error).toMatchObject({ code: "session_busy", details: { turnId: running, waitsFor: "model" } });
    // Canceled sooner, a later one would find the session free and run.
    await eventually(async () => answered === 9);
    await t.call("POST", sessionPath(agent, sessionId, "/cancel"));
    const codes = (await Promise.all(tries)).map(({ body }) => body.error?.code).sort();
    expect(codes).toEqual([...Array.from({ length: 9 }, () => "session_busy"), "turn_canceled"]);
  });
});

describe("a busy session says", () => {
  test("that it waits for an approval, or for the result of a client tool", async () => {
    const asker = await makeAgent(h, t, { tools: ["memory"], approvalInChat: { default: "manual" } });
    const asked = await play(t, asker, null, { message: script('tool=memory_save args={"text":"a"}') });
    const tool = { name: "locate", description: "Where the user is.", inputSchema: { type: "object" as const } };
    const caller = await makeAgent(h, t, { clientTools: [tool], approvalInChat: { default: "full" } });
    const called = await play(t, caller, null, { message: script("tool=locate args={}") });
    for (const [id, played, waitsFor] of [
      [asker, asked, "approval"],
      [caller, called, "tool"],
    ] as const) {
      const { body } = await t.call("POST", sessionPath(id, played.sessionId), { body: { message: userMessage("x") } });
      const details = { turnId: played.turnId, status: "waiting", waitsFor };
      expect(body.error).toMatchObject({ code: "session_busy", details });
      const deleted = await t.call("DELETE", `${sessionPath(id, played.sessionId)}?deleteArtifacts=false`);
      expect(deleted.body.error.details).toEqual(details);
    }
  });
});

describe("errors help", () => {
  test("a 404 names the kind of thing that is missing", async () => {
    const id = "0".repeat(24);
    for (const [path, message] of [
      [`/v1/agents/ag_${id}`, "There is no such agent."],
      [`/v1/agents/${agent}/sessions/ss_${id}`, "There is no such session of this agent."],
      [`/v1/turns/turn_${id}`, "There is no such turn."],
      [`/v1/tasks/tk_${id}`, "There is no such task."],
    ] as const) {
      const { status, body } = await t.call("GET", path);
      expect([path, status, body.error.message]).toEqual([path, 404, message]);
    }
  });

  test("`messages` in a turn's body is told what to send", async () => {
    const { status, body } = await t.call("POST", sessionPath(agent, null), {
      body: { messages: [userMessage("hi")] },
    });
    expect(status).toBe(400);
    const issue = { path: "/messages", message: expect.stringContaining("send the newest one as `message`") };
    expect(body.error.details.issues).toContainEqual(issue);
  });

  test("a 429 says which limit it is", async () => {
    const slow = await h.tenant();
    await h.sql`update tenants set quota_turns_per_day = 0 where id = ${slow.id}`;
    const own = await makeAgent(h, slow);
    const { status, headers, body } = await slow.call("POST", sessionPath(own, null), {
      body: { message: userMessage("hi") },
    });
    const told = ["limit", "remaining", "reset"].map((name) => Number(headers.get(`ratelimit-${name}`)));
    expect([status, body.error.message, told.slice(0, 2)]).toEqual([
      429,
      "The tenant's 0 turns of this UTC day are used up.",
      [0, 0],
    ]);
    expect(told[2]).toBe(Number(headers.get("retry-after")));
  });
});
