import { describe, expect, test } from "bun:test";
import { makeClientToken } from "../harness/client-tokens.ts";
import { useAgent } from "../harness/fixture.ts";
import { type ApiResponse, eventually, type TestTenant } from "../harness/harness.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";
import { expectSameError, statusAndCode } from "../harness/status-and-code.ts";
import { play, script, sessionPath } from "../harness/turns.ts";

const locate = { name: "locate", description: "Where the user is.", inputSchema: { type: "object" as const } };
const agent = { tools: ["memory" as const], clientTools: [locate], approvalInChat: { default: "manual" as const } };
const { h, t, agentId } = await useAgent({ worker: true, agent });
const anna = await makeClientToken(t, { agentId, can: ["approvals", "clientTools", "forks"] });
const sessions = sessionPath(agentId, null);

interface Described {
  readonly operationId: string;
  readonly security?: readonly object[];
}

/** Every operation of the document: method, path, its name, and whether it takes a client token. */
async function operations() {
  const { body } = await t.call("GET", "/openapi.json");
  return Object.entries(body.paths as Record<string, Record<string, Described>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, security }]) => ({
      method: method.toUpperCase(),
      path,
      operationId,
      takesToken: security !== undefined,
    })),
  );
}

/** A turn of a user, to its end. */
const say = (userId: string, text = '[[sim: text="Hello"]]') =>
  play(t, agentId, null, { message: userMessage(text), userId });
const idsOf = ({ body }: ApiResponse) => body.data.map(({ id }: { id: string }) => id).sort();
const refused = [403, "invalid_request"] as const;
const missing = [404, "not_found"] as const;

describe("of all operations, a client token", () => {
  test("is good for these, and each other one is 403", async () => {
    const all = await operations();
    expect(
      all
        .filter(({ takesToken }) => takesToken)
        .map(({ operationId }) => operationId)
        .sort(),
    ).toEqual([
      "sessions.cancel",
      "sessions.create",
      "sessions.fork",
      "sessions.get",
      "sessions.join",
      "sessions.list",
      "sessions.listMessages",
      "sessions.resume",
      "toolApprovals.decide",
      "toolApprovals.joinContinuation",
      "toolApprovals.list",
      "toolCalls.list",
      "toolCalls.settle",
      "turns.get",
      "turns.getInput",
      "turns.list",
    ]);
    const others = all.filter(({ takesToken }) => !takesToken);
    expect(others.length).toBeGreaterThan(100);
    for (const { method, path } of others) {
      const response = await anna.call(method, path.replace("{agentId}", agentId).replace(/\{[^}]+\}/g, "x"));
      expect([method, path, ...statusAndCode(response)]).toEqual([method, path, ...refused]);
    }
    expect((await t.call("GET", `/v1/agents/${agentId}`)).body.name).toBeString();
  });

  test("meets the subscription and the rate of its tenant first", async () => {
    const tenant = await h.tenant();
    const token = await makeClientToken(tenant, { agentId: await makeAgent(h, tenant) });
    await h.sql`update tenants set rate_limit = 0 where id = ${tenant.id}`;
    expect((await token.call("GET", "/v1/agents")).status).toBe(429);
    await h.sql`update tenants set subscription = 'inactive' where id = ${tenant.id}`;
    expect((await token.call("GET", "/v1/agents")).status).toBe(402);
  });
});

describe("a user's own conversation", () => {
  test("is made, continued, read, forked and regenerated; each turn is the token's user's", async () => {
    const first = await anna.call("POST", sessions, { body: { message: script('text="One"') } });
    expect(first.status).toBe(201);
    const path = first.headers.get("location") ?? "";
    const again = { message: script('text="Two"'), userId: "anna", stream: false };
    expect((await anna.call("POST", path, { body: again })).status).toBe(200);
    const regenerate = { trigger: "regenerate-message", stream: false };
    expect((await anna.call("POST", path, { body: regenerate })).body.message.parts.at(-1).text).toBe("Two");
    expect((await anna.call("GET", path)).body).toMatchObject({ userId: "anna", messageCount: 4 });
    expect((await anna.call("GET", `${path}/messages`)).body.data).toHaveLength(4);
    const fork = await anna.call("POST", `${path}/fork`, { body: {} });
    expect([fork.status, fork.body.userId]).toEqual([201, "anna"]);
    expect((await anna.call("GET", fork.headers.get("location") ?? "")).status).toBe(200);
    const turnId = first.headers.get("x-turn-id");
    expect((await anna.call("GET", `/v1/turns/${turnId}`)).body).toMatchObject({ id: turnId, userId: "anna" });
    expect((await anna.call("GET", `${path}/stream`)).status).toBe(204);
    expect(statusAndCode(await anna.call("POST", `${path}/cancel`, { body: {} }))).toEqual([409, "session_idle"]);
  });

  test("approvals are decided as that user, and client tools get their results", async () => {
    const asked = await anna.call("POST", sessions, {
      body: { message: userMessage('[[sim: tool=memory_save args={"text":"tea"} ; text="Noted."]]') },
    });
    const path = asked.headers.get("location") ?? "";
    const { approvals, continuation } = (await anna.call("GET", `${path}/tool-approvals`)).body;
    const decided = await anna.call("POST", `${path}/tool-approvals/${approvals[0].id}`, { body: { approved: true } });
    expect([decided.status, decided.body.approval.decidedBy]).toEqual([202, { type: "chat_user", id: "anna" }]);
    const joined = await anna.call("GET", `${path}/tool-approval-continuations/${continuation.id}`);
    expect(joined.body).toContain("Noted.");
    const events = await t.call("GET", `/v1/audit-events?resourceId=${approvals[0].id}`);
    expect(events.body.data[0]).toMatchObject({ action: "approval.decide", actor: { type: "chat_user", id: "anna" } });

    const called = await anna.call("POST", sessions, {
      body: { message: userMessage('[[sim: tool=locate args={} ; text="Lisbon."]]') },
    });
    const place = called.headers.get("location") ?? "";
    const waiting = (await anna.call("GET", `${place}/tool-approvals`)).body.approvals;
    for (const { id } of waiting)
      await anna.call("POST", `${place}/tool-approvals/${id}`, { body: { approved: true } });
    const callsOf = async () => (await anna.call("GET", `${place}/tool-calls`)).body.toolCalls;
    await eventually(async () => (await callsOf()).length === 1);
    const toolCalls = await callsOf();
    const settled = await anna.call("POST", `${place}/tool-calls/${toolCalls[0].toolCallId}`, {
      body: { output: "Lisbon" },
    });
    expect(settled.status).toBe(202);
    await eventually(async () => (await anna.call("GET", place)).body.busy === false);
  });

  test("another user in the body is 400, and so is what only the agent's owner chooses; nothing is written", async () => {
    const before = (await t.call("GET", sessions)).body.data.length;
    const { sessionId } = await say("anna");
    const prompt = await t.parley.prompts.create({ name: crypto.randomUUID(), template: "secret" });
    const message = script('text="Hi"');
    const wrong = [
      ["/userId", sessions, { message, userId: "bea" }],
      ["/userId", sessions, { message, userId: "" }],
      ["/userId", `${sessions}/${sessionId}`, { message, userId: "bea" }],
      ["/userId", `${sessions}/${sessionId}/fork`, { userId: "bea" }],
      ["/version", sessions, { message, version: 1 }],
      ["/promptId", sessions, { promptId: prompt.id }],
      ["/promptId", `${sessions}/${sessionId}`, { promptId: prompt.id }],
    ] as const;
    for (const [path, url, body] of wrong) {
      const response = await anna.call("POST", url, { body });
      expect([url, response.status, response.body.error?.details?.issues?.[0]?.path]).toEqual([url, 400, path]);
    }
    expect((await t.call("GET", sessions)).body.data.length).toBe(before + 1);
  });
});

describe("what a token was made without", () => {
  const ask = { message: userMessage('[[sim: tool=memory_save args={"text":"tea"} ; text="Noted."]]') };
  const settling = (message: { parts: readonly { approval?: { id: string } }[] }) => ({
    ...message,
    parts: message.parts.map((part) =>
      part.approval === undefined
        ? part
        : { ...part, state: "approval-responded", approval: { ...part.approval, approved: true } },
    ),
  });

  test("is 403, by each way, and nothing is changed; what it was made with goes on", async () => {
    const session = await anna.call("POST", sessions, { body: ask });
    const path = session.headers.get("location") ?? "";
    const { approvals } = (await anna.call("GET", `${path}/tool-approvals`)).body;
    const message = (await anna.call("GET", `${path}/messages`)).body.data.at(-1);
    const attempts = {
      approvals: [
        [`${path}/tool-approvals/${approvals[0].id}`, { approved: true }],
        [path, { message: settling(message) }],
      ],
      clientTools: [[`${path}/tool-calls/call_1`, { output: 1 }]],
      forks: [[`${path}/fork`, {}]],
    } as const;
    for (const [without, ways] of Object.entries(attempts)) {
      const can = (["approvals", "clientTools", "forks"] as const).filter((ability) => ability !== without);
      const holder = await makeClientToken(t, { agentId, can });
      for (const [url, body] of ways)
        expect([without, url, ...statusAndCode(await holder.call("POST", url, { body }))]).toEqual([
          without,
          url,
          ...refused,
        ]);
      expect((await holder.call("GET", `${path}/tool-approvals`)).body.approvals[0].status).toBe("pending");
    }
    const decider = await makeClientToken(t, { agentId, can: ["approvals"] });
    expect((await decider.call("POST", path, { body: { message: settling(message), stream: false } })).status).toBe(
      200,
    );
  });

  test("is shown, is all but forks where nothing is said, and is a list of known words", async () => {
    const make = (fields: object) =>
      t.call("POST", "/v1/client-tokens", { body: { agentId, userId: "anna", ...fields } });
    expect((await make({})).body.can).toEqual(["approvals", "clientTools"]);
    expect((await make({ can: ["forks", "forks"] })).body.can).toEqual(["forks"]);
    expect((await make({ can: [] })).body.can).toEqual([]);
    for (const can of [["everything"], ["Forks"], "forks", null, { forks: true }])
      expect(statusAndCode(await make({ can }))).toEqual([400, "validation_failed"]);
    const { sessionId } = await say("anna");
    const usual = await makeClientToken(t, { agentId });
    expect(statusAndCode(await usual.call("POST", `${sessions}/${sessionId}/fork`, { body: {} }))).toEqual([
      ...refused,
    ]);
  });
});

describe("what is not the token's", () => {
  /** All that a session can be asked for. */
  function requestsFor(path: string): readonly (readonly [string, string, object?])[] {
    return [
      ["GET", path],
      ["GET", `${path}/messages`],
      ["GET", `${path}/stream`],
      ["POST", path, { message: userMessage("Hi") }],
      ["POST", path, { message: { id: "m", role: "assistant", parts: [{ type: "text", text: "x" }] } }],
      ["POST", `${path}/cancel`, {}],
      ["POST", `${path}/fork`, {}],
      ["GET", `${path}/tool-approvals`],
      ["POST", `${path}/tool-approvals/apr_${"0".repeat(24)}`, { approved: true }],
      ["GET", `${path}/tool-approval-continuations/cont_${"0".repeat(24)}`],
      ["GET", `${path}/tool-calls`],
      ["POST", `${path}/tool-calls/call_1`, { output: 1 }],
    ];
  }

  async function expectMissing(holder: { readonly call: TestTenant["call"] }, path: string): Promise<void> {
    const gone = `${path.slice(0, path.lastIndexOf("/"))}/ss_${"0".repeat(24)}`;
    for (const [place, [method, url, body]] of requestsFor(path).entries()) {
      const [, missingUrl] = requestsFor(gone)[place] as readonly [string, string];
      const response = await holder.call(method, url, { body });
      expect([method, url, ...statusAndCode(response)]).toEqual([method, url, ...missing]);
      expectSameError(response, await t.call(method, missingUrl, { body }));
    }
  }

  test("another user's session of the agent responds as a missing one, and so does one without a user", async () => {
    for (const userId of ["bea", ""]) {
      const { sessionId } = await say(userId);
      await expectMissing(anna, `${sessions}/${sessionId}`);
    }
  });

  test("the same user's session of another agent, and of another tenant's", async () => {
    const otherAgent = await makeAgent(h, t);
    const made = await play(t, otherAgent, null, { message: script('text="Hi"'), userId: "anna" });
    await expectMissing(anna, sessionPath(otherAgent, made.sessionId));
    expect(
      statusAndCode(await anna.call("POST", sessionPath(otherAgent, null), { body: { message: script("text=x") } })),
    ).toEqual([...missing]);
    // A session's id with the token's agent in the path is not the agent's session.
    expect((await anna.call("GET", sessionPath(agentId, made.sessionId))).status).toBe(404);
    expect(statusAndCode(await anna.call("GET", `/v1/turns/${made.turnId}`))).toEqual([...missing]);
  });

  test("a token of one session reaches that one, and makes no other", async () => {
    const [mine, other] = [await say("anna"), await say("anna")];
    const one = await makeClientToken(t, {
      agentId,
      sessionId: mine.sessionId,
      can: ["approvals", "clientTools", "forks"],
    });
    const path = `${sessions}/${mine.sessionId}`;
    expect((await one.call("GET", `${path}/messages`)).body.data).toHaveLength(2);
    expect((await one.call("POST", path, { body: { message: script('text="More"') } })).status).toBe(200);
    await expectMissing(one, `${sessions}/${other.sessionId}`);
    expect(statusAndCode(await one.call("POST", sessions, { body: { message: script("text=x") } }))).toEqual([
      ...refused,
    ]);
    expect(statusAndCode(await one.call("POST", `${path}/fork`, { body: {} }))).toEqual([...refused]);
    expect(idsOf(await one.call("GET", sessions))).toEqual([mine.sessionId]);
    const turns = (await one.call("GET", "/v1/turns")).body.data;
    expect(new Set(turns.map((turn: { sessionId: string }) => turn.sessionId))).toEqual(new Set([mine.sessionId]));
    expect(statusAndCode(await one.call("GET", `/v1/turns/${other.turnId}`))).toEqual([...missing]);
  });

  test("lists are narrowed to the user and the agent; asked for others, they are empty", async () => {
    const user = crypto.randomUUID();
    const holder = await makeClientToken(t, { agentId, userId: user });
    const otherAgent = await makeAgent(h, t);
    const [first, second] = [await say(user), await say(user)];
    const elsewhere = await play(t, otherAgent, null, { message: script('text="Hi"'), userId: user });
    const strangers = await say("bea");
    const mine = [first.sessionId, second.sessionId].sort();
    expect(idsOf(await holder.call("GET", sessions))).toEqual(mine);
    expect(idsOf(await holder.call("GET", `${sessions}?userId=${user}`))).toEqual(mine);
    const page = await holder.call("GET", `${sessions}?limit=1`);
    const rest = await holder.call("GET", `${sessions}?limit=1&cursor=${page.body.nextCursor}`);
    expect([...idsOf(page), ...idsOf(rest)].sort()).toEqual(mine);
    expect(rest.body.nextCursor).toBeNull();
    const turnIds = [first.turnId, second.turnId].sort();
    expect(idsOf(await holder.call("GET", "/v1/turns"))).toEqual(turnIds);
    expect(idsOf(await holder.call("GET", `/v1/turns?agentId=${agentId}&userId=${user}&status=succeeded`))).toEqual(
      turnIds,
    );
    expect(idsOf(await holder.call("GET", `/v1/turns?sessionId=${first.sessionId}`))).toEqual([first.turnId]);
    for (const path of [
      `${sessions}?userId=bea`,
      `${sessions}?userId=`,
      sessionPath(otherAgent, null),
      `/v1/turns?userId=bea`,
      `/v1/turns?agentId=${otherAgent}`,
      `/v1/turns?sessionId=${strangers.sessionId}`,
      `/v1/turns?sessionId=${elsewhere.sessionId}`,
    ]) {
      const { status, body } = await holder.call("GET", path);
      expect([path, status, body]).toEqual([path, 200, { data: [], nextCursor: null }]);
    }
    for (const { turnId } of [strangers, elsewhere])
      expect(statusAndCode(await holder.call("GET", `/v1/turns/${turnId}`))).toEqual([...missing]);
  });

  test("an Idempotency-Key is the user's: the same one of another user, or of the tenant, is another key", async () => {
    const bea = await makeClientToken(t, { agentId, userId: "bea" });
    const headers = { "idempotency-key": crypto.randomUUID() };
    const body = { message: script('text="Mine"'), stream: false };
    const send = (holder: { readonly call: TestTenant["call"] }) => holder.call("POST", sessions, { body, headers });
    const turns = await Promise.all([send(anna), send(bea), send(t)]);
    expect(turns.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(new Set(turns.map((turn) => turn.headers.get("x-turn-id"))).size).toBe(3);
    // Another token of the same user is the same user.
    const renewed = await makeClientToken(t, { agentId });
    expect((await send(renewed)).headers.get("x-turn-id")).toBe(turns[0]?.headers.get("x-turn-id") ?? "");
  });
});
