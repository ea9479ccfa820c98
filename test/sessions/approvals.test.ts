import { describe, expect, test } from "bun:test";
import { useAgent } from "../harness/fixture.ts";
import { type ApiResponse, eventually } from "../harness/harness.ts";
import { chunksOf, makeAgent, userMessage } from "../harness/seed.ts";

const { h, t, agentId } = await useAgent({
  worker: true,
  agent: { tools: ["memory"], approvalInChat: { default: "manual" } },
});

const asksOnce = '[[sim: tool=memory_save args={"text":"likes tea"} ; text="All done."]]';
const asksTwice =
  '[[sim: tool=memory_save args={"text":"one"} tool=memory_save args={"text":"two"} ; text="Both answered."]]';

/** A session whose first turn has stopped to ask; returns its path and the stream of its response. */
async function ask(script: string, agent = agentId, tenant = t): Promise<{ path: string; first: ApiResponse }> {
  const first = await tenant.call("POST", `/v1/agents/${agent}/sessions`, { body: { message: userMessage(script) } });
  expect(first.status).toBe(201);
  return { path: first.headers.get("location") ?? "", first };
}

const approvalsOf = async (path: string) => (await t.call("GET", `${path}/tool-approvals`)).body;
const decide = (path: string, id: string, approved: boolean, reason?: string) =>
  t.call("POST", `${path}/tool-approvals/${id}`, { body: { approved, ...(reason === undefined ? {} : { reason }) } });
const join = (path: string, continuationId: string) =>
  t.call("GET", `${path}/tool-approval-continuations/${continuationId}`);
const messagesOf = async (path: string) => (await t.call("GET", `${path}/messages`)).body.data;

describe("a turn that asks", () => {
  test("streams the request under its apr_ id, keeps the session busy, and goes on after the decision in the same message", async () => {
    const { path, first } = await ask(asksOnce);
    const request = chunksOf(first.body).find((chunk) => chunk.type === "tool-approval-request");
    const { approvals, continuation } = await approvalsOf(path);
    expect(approvals).toEqual([
      {
        id: expect.stringMatching(/^apr_[0-9a-z]{24}$/),
        sessionId: path.split("/").at(-1),
        turnId: first.headers.get("x-turn-id"),
        tool: "memory_save",
        toolCallId: request?.toolCallId,
        input: { text: "likes tea" },
        assistantMessageId: expect.stringMatching(/^msg_/),
        status: "pending",
        reason: null,
        createdAt: expect.any(String),
        decidedAt: null,
        decidedBy: null,
      },
    ]);
    expect(request?.approvalId).toBe(approvals[0].id);
    expect(continuation).toMatchObject({ status: "waiting", startedAt: null, finishedAt: null });

    expect((await t.call("POST", path, { body: { message: userMessage("hi") } })).body.error.code).toBe("session_busy");
    expect((await t.call("DELETE", `${path}?deleteArtifacts=false`)).body.error.code).toBe("session_busy");
    expect([(await join(path, continuation.id)).status, (await join(path, continuation.id)).body.error.code]).toEqual([
      409,
      "session_busy",
    ]);

    const decided = await decide(path, approvals[0].id, true);
    expect(decided.status).toBe(202);
    expect(decided.body.approval).toMatchObject({ id: approvals[0].id, status: "approved" });
    const decidedBy = { type: "api_key", id: (await t.call("GET", "/v1/apikeys")).body.apiKeys[0].id };
    expect(decided.body.approval.decidedBy).toEqual(decidedBy);
    expect((await approvalsOf(path)).approvals[0].decidedBy).toEqual(decidedBy);
    expect(decided.body.continuation).toMatchObject({ id: continuation.id, status: "queued" });
    const joined = chunksOf((await join(path, continuation.id)).body);
    expect(joined[0]).toEqual({ type: "start", messageId: approvals[0].assistantMessageId });
    expect(joined.map((chunk) => chunk.type)).toContain("tool-output-available");
    expect(joined.at(-1)?.type).toBe("finish");

    const messages = await messagesOf(path);
    expect(messages).toHaveLength(2);
    expect(messages[1].id).toBe(approvals[0].assistantMessageId);
    const calls = messages[1].parts.filter((part: { toolCallId?: string }) => part.toolCallId !== undefined);
    expect(calls).toHaveLength(1);
    expect(calls[0].state).toBe("output-available");
    expect(messages[1].parts.at(-1)).toMatchObject({ type: "text", text: "All done." });
    expect(
      (await t.call("GET", `/v1/agents/${agentId}/memories`)).body.data.some(
        (memory: { text: string }) => memory.text === "likes tea",
      ),
    ).toBe(true);
    const again = await join(path, continuation.id);
    expect(chunksOf(again.body)).toEqual(joined);
    expect((await t.call("POST", path, { body: { message: userMessage("hi"), stream: false } })).status).toBe(200);
    const [usage] =
      await h.sql`select count(*)::int as rows from usage where turn_id = ${first.headers.get("x-turn-id")}`;
    expect(usage?.rows).toBe(1);
  });

  test("a denial reaches the model with its reason; the tool never runs", async () => {
    const { path } = await ask('[[sim: tool=memory_save args={"text":"never saved"} ]]');
    const { approvals, continuation } = await approvalsOf(path);
    h.model.clear();
    expect((await decide(path, approvals[0].id, false, "Not while I am away")).body.approval.reason).toBe(
      "Not while I am away",
    );
    await join(path, continuation.id);
    expect(JSON.stringify(h.model.requests().at(-1)?.body)).toContain("Not while I am away");
    const messages = await messagesOf(path);
    expect(messages[1].parts.find((part: { toolCallId?: string }) => part.toolCallId)).toMatchObject({
      state: "output-denied",
      approval: { id: approvals[0].id, approved: false, reason: "Not while I am away" },
    });
    expect(JSON.stringify((await t.call("GET", `/v1/agents/${agentId}/memories`)).body)).not.toContain("never saved");
  });

  test("409 approval_decided: several approvals of one message in any order, exactly once each, and the turn resumes after the last", async () => {
    const { path } = await ask(asksTwice);
    const { approvals, continuation } = await approvalsOf(path);
    expect(approvals).toHaveLength(2);
    const second = await decide(path, approvals[1].id, true);
    expect(second.body.continuation.status).toBe("waiting");
    const races = await Promise.all(Array.from({ length: 8 }, (_, n) => decide(path, approvals[0].id, n % 2 === 0)));
    expect(races.filter((response) => response.status === 202)).toHaveLength(1);
    for (const response of races)
      if (response.status !== 202)
        expect([response.status, response.body.error.code]).toEqual([409, "approval_decided"]);
    const joined = chunksOf((await join(path, continuation.id)).body);
    expect(joined.at(-1)?.type).toBe("finish");
    expect((await approvalsOf(path)).continuation.status).toBe("succeeded");
    const inA = await t.call("POST", `${path}/tool-approvals/${approvals[0].id}`, {
      body: { approved: true },
      form: "a",
    });
    expect([inA.status, inA.body.error.code]).toEqual([409, "invalid_request"]);
  });

  test("a decided call says so in the transcript at once, beside one that still waits", async () => {
    const { path } = await ask(asksTwice);
    const { approvals, continuation } = await approvalsOf(path);
    await decide(path, approvals[0].id, false, "No tea");
    const callsOf = async () =>
      (await messagesOf(path))[1].parts.filter((part: { toolCallId?: string }) => part.toolCallId !== undefined);
    expect(await callsOf()).toEqual([
      expect.objectContaining({
        toolCallId: approvals[0].toolCallId,
        state: "approval-responded",
        approval: expect.objectContaining({ id: approvals[0].id, approved: false, reason: "No tea" }),
      }),
      expect.objectContaining({ toolCallId: approvals[1].toolCallId, state: "approval-requested" }),
    ]);
    await Promise.all([decide(path, approvals[1].id, true), decide(path, approvals[1].id, true)]);
    await join(path, continuation.id);
    expect((await callsOf()).map(({ state }: { state: string }) => state)).toEqual([
      "output-denied",
      "output-available",
    ]);
  });

  test("asking again makes a new continuation, and the first ends succeeded", async () => {
    const { path } = await ask(
      '[[sim: tool=memory_save args={"text":"a1"} ; tool=memory_save args={"text":"a2"} ; text="Twice asked."]]',
    );
    const before = await approvalsOf(path);
    await decide(path, before.approvals[0].id, true);
    await join(path, before.continuation.id);
    const after = await approvalsOf(path);
    expect(after.approvals).toHaveLength(2);
    expect(after.continuation.id).not.toBe(before.continuation.id);
    expect(after.continuation.status).toBe("waiting");
    await decide(path, after.approvals[1].id, true);
    await join(path, after.continuation.id);
    const messages = await messagesOf(path);
    expect(messages).toHaveLength(2);
    expect(messages[1].parts.at(-1).text).toBe("Twice asked.");
    expect((await join(path, before.continuation.id)).status).toBe(200);
  });

  test("cancel while waiting denies all that is pending and frees the session", async () => {
    const { path } = await ask(asksTwice);
    expect((await t.call("POST", `${path}/cancel`, { body: {} })).status).toBe(202);
    const { approvals, continuation } = await approvalsOf(path);
    expect(approvals.map((approval: { status: string }) => approval.status)).toEqual(["denied", "denied"]);
    expect(continuation.status).toBe("failed");
    expect((await t.call("POST", path, { body: { message: userMessage("hi"), stream: false } })).status).toBe(200);
    // The cancelled turn left nothing behind: these are the messages of the one after it.
    const messages = await messagesOf(path);
    expect(messages.map((message: { parts: { text?: string }[] }) => message.parts.at(-1)?.text)[0]).toBe("hi");
  });

  test("409 turn_canceled: a repeat under its Idempotency-Key once the turn that asked was cancelled", async () => {
    const request = {
      body: { message: userMessage(asksOnce), stream: false },
      headers: { "idempotency-key": crypto.randomUUID() },
    };
    const first = await t.call("POST", `/v1/agents/${agentId}/sessions`, request);
    expect(first.status).toBe(201);
    expect((await t.call("POST", `${first.headers.get("location")}/cancel`)).status).toBe(202);
    const repeated = await t.call("POST", `/v1/agents/${agentId}/sessions`, request);
    expect([repeated.status, repeated.body.error.code]).toEqual([409, "turn_canceled"]);
    expect(repeated.headers.get("x-turn-id")).toBe(first.headers.get("x-turn-id"));
  });

  test("a regeneration that stops to ask keeps the previous answer until it succeeds", async () => {
    const first = await t.call("POST", `/v1/agents/${agentId}/sessions`, {
      body: { message: userMessage('[[sim: tool=memory_search args={"query":"x"} ; text="asks"]]') },
    });
    const path = first.headers.get("location") ?? "";
    const decideAll = async (approved: boolean) => {
      const { approvals, continuation } = await approvalsOf(path);
      await decide(path, approvals.at(-1).id, approved);
      await join(path, continuation.id);
    };
    await decideAll(true);
    const before = await messagesOf(path);
    expect(before).toHaveLength(2);
    const again = () => t.call("POST", path, { body: { trigger: "regenerate-message" } });
    expect((await again()).status).toBe(200);
    expect(await messagesOf(path)).toEqual(before);
    expect((await t.call("POST", `${path}/cancel`, { body: {} })).status).toBe(202);
    expect(await messagesOf(path)).toEqual(before);
    await again();
    await decideAll(true);
    const after = await messagesOf(path);
    expect(after).toHaveLength(2);
    expect(after[0]).toEqual(before[0]);
    expect(after[1].id).not.toBe(before[1].id);
    expect(after[1].parts.at(-1).text).toBe("asks");
    const [session] = (await t.call("GET", `/v1/agents/${agentId}/sessions`)).body.data;
    expect(session.messageCount).toBe(2);
  });

  test("NUL and half surrogates in a call's input wait for a person like any other", async () => {
    const { path } = await ask('[[sim: tool=memory_save args={"text":"a\\u0000b\\ud83dx"} ; text="done"]]');
    const { approvals, continuation } = await approvalsOf(path);
    expect(approvals[0].input).toEqual({ text: "a\uFFFDb\uFFFDx" });
    await decide(path, approvals[0].id, false);
    expect(chunksOf((await join(path, continuation.id)).body).at(-1)?.type).toBe("finish");
  });

  test("form A shows a session only after the turn that asked has succeeded; a cancelled one leaves none", async () => {
    const start = () =>
      t.call("POST", `/v1/agents/${agentId}/sessions`, { body: { message: userMessage(asksOnce) }, form: "a" });
    const listed = async (path: string) =>
      (await t.call("GET", `/v1/agents/${agentId}/sessions`)).body.data.some((session: { id: string }) =>
        path.endsWith(session.id),
      );
    const canceled = (await start()).headers.get("location") ?? "";
    expect(await listed(canceled)).toBe(false);
    await t.call("POST", `${canceled}/cancel`, { body: {} });
    expect((await t.call("GET", `${canceled}/tool-approvals`)).status).toBe(404);
    const approved = (await start()).headers.get("location") ?? "";
    const { approvals, continuation } = await approvalsOf(approved);
    await decide(approved, approvals[0].id, true);
    await join(approved, continuation.id);
    expect(await listed(approved)).toBe(true);
  });

  test("auto runs what only reads and asks for the rest; deny leaves nothing pending", async () => {
    const auto = await makeAgent(h, t, {
      tools: ["memory"],
      approvalInChat: { default: "auto", overrides: [{ tool: "memory_delete", mcpConnectionId: null, mode: "deny" }] },
    });
    const read = await ask('[[sim: tool=memory_search args={"query":"x"} ; text="Searched."]]', auto);
    expect((await approvalsOf(read.path)).approvals).toHaveLength(0);
    const denied = await ask(`[[sim: tool=memory_delete args={"memoryId":"mem_${"0".repeat(24)}"} ]]`, auto);
    expect((await approvalsOf(denied.path)).approvals).toHaveLength(0);
    expect(chunksOf(denied.first.body).map((chunk) => chunk.type)).toContain("tool-output-denied");
    const write = await ask(asksOnce, auto);
    expect((await approvalsOf(write.path)).approvals).toHaveLength(1);
  });

  test("a stateless generation denies what would wait", async () => {
    const response = await t.call("POST", `/v1/agents/${agentId}/generate`, {
      body: { messages: [userMessage('[[sim: tool=memory_save args={"text":"no"} ]]')], stream: false },
    });
    expect(response.status).toBe(200);
    expect(response.body.message.parts.find((part: { toolCallId?: string }) => part.toolCallId).state).toBe(
      "output-denied",
    );
  });

  test("404 not_found, 400 validation_failed: foreign, missing and malformed ids, broken decisions", async () => {
    const { path } = await ask(asksOnce);
    const { approvals, continuation } = await approvalsOf(path);
    const stranger = await h.tenant();
    const strip = (response: ApiResponse) => [response.status, { ...response.body.error, requestId: "" }];
    const missing = `apr_${"0".repeat(24)}`;
    expect(
      strip(await stranger.call("POST", `${path}/tool-approvals/${approvals[0].id}`, { body: { approved: true } })),
    ).toEqual(strip(await stranger.call("POST", `${path}/tool-approvals/${missing}`, { body: { approved: true } })));
    expect((await decide(path, missing, true)).status).toBe(404);
    expect((await stranger.call("GET", `${path}/tool-approvals`)).status).toBe(404);
    expect((await stranger.call("GET", `${path}/tool-approval-continuations/${continuation.id}`)).status).toBe(404);
    expect((await join(path, `cont_${"0".repeat(24)}`)).status).toBe(404);
    expect((await decide(path, "nope", true)).status).toBe(400);
    for (const body of [
      {},
      { approved: "yes" },
      { approved: true, reason: "x".repeat(1001) },
      { approved: true, extra: 1 },
    ]) {
      expect((await t.call("POST", `${path}/tool-approvals/${approvals[0].id}`, { body })).status).toBe(400);
    }
    expect((await approvalsOf(path)).approvals[0].status).toBe("pending");
    await eventually(async () => (await decide(path, approvals[0].id, true, "é".repeat(1000))).status === 202);
  });
});
