import { describe, expect, test } from "bun:test";
import { useAgent } from "../harness/fixture.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { idle, open, play, script, sessionPath } from "../harness/turns.ts";

const { h, t, agentId } = await useAgent({
  worker: true,
  agent: { tools: ["memory"], approvalInChat: { default: "manual" } },
});
const hanging = 'text="one two" hangAfterChunks=1';
const forms = ["a", "b"] as const;
const read = (sessionId: string, form: "a" | "b" = "b") => t.call("GET", sessionPath(agentId, sessionId), { form });

/** The session as the list of its agent shows it. */
async function listed(sessionId: string) {
  const { body } = await t.call("GET", `/v1/agents/${agentId}/sessions?limit=200`);
  return body.data.find(({ id }: { id: string }) => id === sessionId);
}

/** Puts turns into the line behind another one. */
async function enqueue(turnId: string, messages: readonly object[]): Promise<void> {
  for (const [place, message] of messages.entries())
    await h.sql`
      insert into turns (id, tenant_id, agent_id, session_id, kind, status, line_place, agent_version, input, assistant_message_id)
      select 'turn_line' || ${place}::text || right(id, 19), tenant_id, agent_id, session_id, kind, 'enqueued', ${place}::int, agent_version,
        ${h.sql.typed(message as never, 114)}, 'msg_' || ${place}::text || right(id, 23)
      from turns where id = ${turnId}`;
}

const leaveLine = (sessionId: string) =>
  h.sql`delete from turns where session_id = ${sessionId} and status = 'enqueued'`;

describe("reading a session", () => {
  test.each(forms)("an idle one is what the list shows, and nothing waits, form %s", async (form) => {
    const fields = { userId: "u-1", metadata: { plan: "pro" } };
    const { sessionId } = await play(t, agentId, null, { message: userMessage("hi"), ...fields });
    const { status, body } = await read(sessionId, form);
    expect([status, body]).toEqual([
      200,
      { ...(await listed(sessionId)), busy: false, activeTurnId: null, queuedTurns: 0, pending: [] },
    ]);
    expect(body).toMatchObject(fields);
  });

  test.each(forms)("a running turn is active, and its message waits for its answer, form %s", async (form) => {
    const { sessionId } = await play(t, agentId, null, { message: userMessage("hi") });
    const message = { ...script(hanging), metadata: { kept: true } };
    const stream = await open(h, t, "POST", sessionPath(agentId, sessionId), { body: { message } });
    await stream.until("text-delta");
    const { body } = await read(sessionId, form);
    expect(body).toMatchObject({
      busy: true,
      activeTurnId: stream.turnId,
      queuedTurns: 0,
      messageCount: 2,
      pending: [{ turnId: stream.turnId, status: "running", message }],
    });
    await t.call("POST", sessionPath(agentId, sessionId, "/cancel"));
    await stream.rest();
    expect((await read(sessionId)).body).toMatchObject({ busy: false, activeTurnId: null, pending: [] });
  });

  test("a turn that waits for a person has its message in the transcript", async () => {
    const message = script('tool=memory_save args={"text":"a"} ; text="Saved."');
    const { sessionId, turnId } = await play(t, agentId, null, { message });
    expect((await read(sessionId)).body).toMatchObject({
      busy: true,
      activeTurnId: turnId,
      messageCount: 2,
      pending: [],
    });
  });

  test("a regeneration has no message of its own", async () => {
    const { sessionId } = await play(t, agentId, null, { message: script("text=a") });
    const running = await open(h, t, "POST", sessionPath(agentId, sessionId), {
      body: { message: { ...script(hanging) } },
    });
    await running.until("text-delta");
    await t.call("POST", sessionPath(agentId, sessionId, "/cancel"));
    await running.rest();
    // With no worker's slot in its way the regeneration is read while it is queued or runs.
    const [again] = await Promise.all([
      play(t, agentId, sessionId, { trigger: "regenerate-message" }),
      read(sessionId).then(({ body }) => expect(body.pending).toEqual([])),
    ]);
    expect(again.status).toBe(200);
  });

  test("the turns behind it are in the line, in their order, and shown as queued", async () => {
    const { sessionId } = await play(t, agentId, null, { message: userMessage("hi") });
    const first = await open(h, t, "POST", sessionPath(agentId, sessionId), { body: { message: script(hanging) } });
    await first.until("text-delta");
    const messages = ["two", "three", "four"].map((text) => userMessage(text));
    await enqueue(first.turnId, messages);
    const { body } = await read(sessionId);
    expect([body.busy, body.activeTurnId, body.queuedTurns]).toEqual([true, first.turnId, 3]);
    expect(body.pending.map(({ status }: { status: string }) => status)).toEqual([
      "running",
      "queued",
      "queued",
      "queued",
    ]);
    expect(body.pending.slice(1).map(({ message }: { message: object }) => message)).toEqual(messages);
    await leaveLine(sessionId);
    await t.call("POST", sessionPath(agentId, sessionId, "/cancel"));
    await first.rest();
  });

  test("in form A the first turn's session is there by its id while that turn is", async () => {
    const stream = await open(h, t, "POST", sessionPath(agentId, null), {
      form: "a",
      body: { message: script(hanging) },
    });
    await stream.until("text-delta");
    expect((await read(stream.sessionId, "a")).body).toMatchObject({ busy: true, activeTurnId: stream.turnId });
    await t.call("POST", sessionPath(agentId, stream.sessionId, "/cancel"));
    await stream.rest();
    expect(statusAndCode(await read(stream.sessionId, "a"))).toEqual([404, "not_found"]);
  });

  test("404 not_found: a deleted one, another agent's and another tenant's", async () => {
    const { sessionId } = await play(t, agentId, null, { message: userMessage("hi") });
    const other = await makeAgent(h, t);
    const stranger = await h.tenant();
    const path = sessionPath(agentId, sessionId);
    const body = { metadata: {} };
    for (const method of ["GET", "PATCH"] as const) {
      const sent = method === "PATCH" ? { body } : {};
      expect(statusAndCode(await t.call(method, sessionPath(other, sessionId), sent))).toEqual([404, "not_found"]);
      expect(statusAndCode(await stranger.call(method, path, sent))).toEqual([404, "not_found"]);
    }
    await t.call("DELETE", `${path}?deleteArtifacts=false`);
    for (const method of ["GET", "PATCH"] as const)
      expect(statusAndCode(await t.call(method, path, method === "PATCH" ? { body } : {}))).toEqual([404, "not_found"]);
  });

  test("what waits is cut where its messages have more than 4 MiB beside the largest", async () => {
    const { sessionId } = await play(t, agentId, null, { message: userMessage("hi") });
    const first = await open(h, t, "POST", sessionPath(agentId, sessionId), { body: { message: script(hanging) } });
    await first.until("text-delta");
    await enqueue(
      first.turnId,
      [5, 2, 1.9, 1].map((mib) => userMessage("x".repeat(mib * 1024 * 1024))),
    );
    const { body } = await read(sessionId);
    expect([body.queuedTurns, body.pending.length]).toEqual([4, 4]);
    await leaveLine(sessionId);
    await t.call("POST", sessionPath(agentId, sessionId, "/cancel"));
    await first.rest();
  });
});

describe("changing a session", () => {
  test.each(forms)(
    "its metadata is replaced, it moves to the front, and nothing else changes, form %s",
    async (form) => {
      const { sessionId } = await play(t, agentId, null, {
        message: userMessage("hi"),
        userId: "u",
        metadata: { a: 1, b: { c: [] } },
      });
      await play(t, agentId, null, { message: userMessage("later") });
      const before = (await read(sessionId)).body;
      const metadata = { d: "x", nested: { "": null } };
      const { status, body } = await t.call("PATCH", sessionPath(agentId, sessionId), { form, body: { metadata } });
      expect([status, body]).toEqual([200, { ...before, metadata, updatedAt: body.updatedAt }]);
      expect(body.updatedAt > before.updatedAt).toBe(true);
      const { body: list } = await t.call("GET", `/v1/agents/${agentId}/sessions?limit=1`);
      expect(list.data).toEqual([await listed(sessionId)]);
      expect(list.data[0].metadata).toEqual(metadata);
      const { body: audit } = await t.call("GET", `/v1/audit-events?resourceId=${sessionId}`);
      expect(audit.data).toEqual([expect.objectContaining({ action: "session.update", changes: ["metadata"] })]);
    },
  );

  test("while a turn runs it is changed all the same, and the turn ends as it would", async () => {
    const { sessionId } = await play(t, agentId, null, { message: userMessage("hi") });
    const message = script('text="one two three" delayMs=50');
    const [turn, ...changed] = await Promise.all([
      play(t, agentId, sessionId, { message }),
      ...[1, 2, 3].map((n) => t.call("PATCH", sessionPath(agentId, sessionId), { body: { metadata: { n } } })),
    ]);
    await idle(h, sessionId);
    expect([turn.status, ...changed.map(({ status }) => status)]).toEqual([200, 200, 200, 200]);
    expect((await read(sessionId)).body).toMatchObject({ messageCount: 4, busy: false });
  });

  test.each([
    [{}, "metadata"],
    [{ metadata: null }, "metadata"],
    [{ metadata: [] }, "metadata"],
    [{ metadata: {}, userId: "u" }, "userId"],
  ])("400 validation_failed: %j, and the field is named", async (body, field) => {
    const { sessionId } = await play(t, agentId, null, { message: userMessage("hi") });
    const refused = await t.call("PATCH", sessionPath(agentId, sessionId), { body });
    expect(statusAndCode(refused)).toEqual([400, "validation_failed"]);
    expect(refused.body.error.message).toContain(field);
  });
});
