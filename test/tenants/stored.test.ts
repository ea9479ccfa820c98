import { describe, expect, test } from "bun:test";
import { countStored, noteStored } from "../../src/kernel/admission/stored-bytes.ts";
import { recountSessions } from "../../src/sessions/state/session-bytes.ts";
import { makeClientToken } from "../harness/client-tokens.ts";
import { eventually } from "../harness/eventually.ts";
import { useTenant } from "../harness/fixture.ts";
import type { ApiResponse, TestTenant } from "../harness/harness.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { play, script, sessionPath } from "../harness/turns.ts";

const { h } = await useTenant({ worker: true });
const mib = 1024 * 1024;
const full = [429, "quota_exceeded"] as [number, string];
/** A text that no compression makes smaller. */
const noise = (bytes: number) =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(65_536)))
    .toString("hex")
    .repeat(Math.ceil(bytes / 131_072))
    .slice(0, bytes);
const limit = (t: TestTenant, storedMib: number | null) =>
  h.sql`update tenants set stored_mib = ${storedMib} where id = ${t.id}`;
const stored = (t: TestTenant) => countStored(h.sql, t.id);
const ofSession = async (id: string) => {
  const [row] = await h.sql<{ bytes: number; counted: number }[]>`
    select s.bytes::int as bytes, ((select coalesce(sum(bytes), 0) from messages where session_id = s.id)
      + (select coalesce(sum(coalesce(pg_column_size(input), 0) + 2 * pg_column_size(metadata) + coalesce(pg_column_size(response_format), 0)
        + coalesce(pg_column_size(caller_options), 0)), 0) from turns where session_id = s.id and finished_at is not null))::int as counted
    from sessions s where id = ${id}`;
  return row;
};

describe("what a session stores", () => {
  test("is what its messages and turns take, after each kind of end, a fork, a branch and a deletion", async () => {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t, { tools: ["memory"], approvalInChat: { default: "manual" } });
    const say = (id: string | null, message: object | undefined, more: object = {}) =>
      play(t, agentId, id, { ...(message === undefined ? {} : { message }), stream: false, ...more });
    const exact = async (id: string) => {
      const row = await ofSession(id);
      expect(row?.bytes).toBe(row?.counted as number);
      expect(row?.bytes).toBeGreaterThan(0);
    };
    const { sessionId, turnId } = await say(null, script('text="One. “é” 😀"'));
    await exact(sessionId);
    await say(sessionId, script('text="Two."'));
    await say(sessionId, undefined, { trigger: "regenerate-message" });
    await exact(sessionId);
    expect((await say(sessionId, script("fail=400"))).status).toBe(502);
    await exact(sessionId);
    const asking = await say(sessionId, script('tool=memory_save args={"text":"tea"} ; text="Noted."'));
    const { approvals } = await t.parley.toolApprovals.list(agentId, sessionId);
    await t.call("POST", `${sessionPath(agentId, sessionId)}/tool-approvals/${approvals[0]?.id}`, {
      body: { approved: true },
    });
    await t.call(
      "GET",
      `${sessionPath(agentId, sessionId)}/tool-approval-continuations/${asking.body.continuation?.id ?? (await t.parley.toolApprovals.list(agentId, sessionId)).continuation?.id}`,
    );
    await exact(sessionId);
    const fork = await t.call("POST", `${sessionPath(agentId, sessionId)}/fork`, { body: {} });
    const [copied] = await h.sql`select sum(bytes)::int as bytes from messages where session_id = ${fork.body.id}`;
    expect((await ofSession(fork.body.id))?.bytes).toBe(copied?.bytes);
    const branch = await t.call("POST", "/v1/responses", {
      body: { model: agentId, input: "More.", previous_response_id: turnId.replace("turn_", "resp_") },
    });
    const [row] = await h.sql`select session_id from turns where id = ${branch.body.id.replace("resp_", "turn_")}`;
    await exact(row?.sessionId);
    await t.call("DELETE", `/v1/responses/${turnId.replace("turn_", "resp_")}`);
    for (const id of [sessionId, fork.body.id, row?.sessionId]) await exact(id);
    const before = await stored(t);
    await h.sql`update sessions set bytes = case when id = ${sessionId} then 7 end where tenant_id = ${t.id}`;
    await recountSessions(h.sql);
    expect(await stored(t)).toBe(before);
    await noteStored(h.sql);
    expect((await h.sql`select stored_bytes from tenants where id = ${t.id}`)[0]?.storedBytes).toBe(before);
  });
});

describe("a tenant that may store so much", () => {
  test("is refused what goes beyond, at each door; deleting makes room, and no limit takes everything", async () => {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t, { tools: ["memory"], approvalInChat: { default: "full" } });
    const workspace = await t.parley.workspaces.create({});
    const put = (path: string, bytes: number): Promise<ApiResponse> =>
      t.call("PUT", `/v1/workspaces/${workspace.id}/files?path=${path}`, { body: new Uint8Array(bytes) });
    const turn = (text: string) =>
      t.call("POST", sessionPath(agentId, null), { body: { message: userMessage(text), stream: false } });
    const first = await turn(noise(mib / 2));
    expect(first.status).toBe(201);
    const session = first.headers.get("location") ?? "";
    await limit(t, 2);
    // Message and question, half of it again compressed, and the answer that repeats it.
    const now = await stored(t);
    expect(now).toBeGreaterThan(mib / 2);
    expect((await put("a", 2 * mib - now - 1_000)).status).toBe(200);
    expect(statusAndCode(await put("b", 1_001))).toEqual(full);
    const { token } = await makeClientToken(t, { agentId, can: ["forks"], userId: "anna" });
    expect(token).toStartWith("parleyc_");
    expect(statusAndCode(await t.call("POST", `${session}/fork`, { body: {} }))).toEqual(full);
    const refused = await turn(noise(2_000));
    expect([...statusAndCode(refused), refused.body.error.details.storedMib]).toEqual([...full, 2]);
    const branch = { model: agentId, input: noise(2_000) };
    expect(statusAndCode(await t.call("POST", "/v1/responses", { body: branch }))).toEqual(full);
    expect(statusAndCode(await t.call("POST", "/v1/responses", { body: { ...branch, store: false } }))).toEqual(full);
    expect(
      statusAndCode(await t.call("POST", `/v1/agents/${agentId}/memories`, { body: { text: noise(1_500) } })),
    ).toEqual(full);
    expect(statusAndCode(await t.call("POST", "/v1/prompts", { body: { name: "p", template: noise(3_000) } }))).toEqual(
      full,
    );
    expect((await t.call("GET", `${session}/messages`)).status).toBe(200);
    expect((await t.call("DELETE", `${session}?deleteArtifacts=false`)).status).toBe(204);
    // It counts anew at most for a twentieth of the time.
    await eventually(async () => (await put("b", 1_001)).status === 200);
    expect((await turn("hi")).status).toBe(201);
    await limit(t, 0);
    expect(statusAndCode(await turn("hi"))).toEqual(full);
    await limit(t, null);
    expect((await put("c", 3 * mib)).status).toBe(200);
    expect((await turn(noise(10_000))).status).toBe(201);
  });

  test("is refused metadata and response formats that go beyond, and they count where they are kept", async () => {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t);
    const metadata = { note: noise(60_000) };
    const kept = 20_000;
    const counts = async (work: () => Promise<ApiResponse>, times: number) => {
      const before = await stored(t);
      const answer = await work();
      expect(answer.status).toBeLessThan(300);
      expect((await stored(t)) - before).toBeGreaterThan(times * kept);
      return answer;
    };
    const post = (path: string, body: object) => t.call("POST", path, { body });
    const ask = (more: object) =>
      post(sessionPath(agentId, null), { message: script(`text="{}"`), stream: false, ...more });
    const generate = (more: object) =>
      post(`/v1/agents/${agentId}/generate`, { messages: [userMessage("hi")], stream: false, ...more });
    const schema = { type: "object", description: noise(60_000) };
    const responseFormat = { type: "json_schema", schema };
    const begun = await counts(() => ask({ metadata }), 3);
    const session = begun.headers.get("location") ?? "";
    await counts(() => post(session, { message: userMessage("more"), stream: false, metadata }), 2);
    await counts(() => generate({ metadata }), 2);
    await counts(() => ask({ responseFormat }), 1);
    await counts(() => post("/v1/workspaces", { metadata }), 1);
    const plain = await ask({});
    const other = plain.headers.get("location") ?? "";
    await counts(() => t.call("PATCH", other, { body: { metadata } }), 1);
    await h.sql`update sessions set bytes = 7 where tenant_id = ${t.id}`;
    const before = await stored(t);
    await recountSessions(h.sql);
    expect((await stored(t)) - before).toBeGreaterThan(4 * kept);
    await limit(t, 1);
    const left = mib - (await stored(t)) - 50_000;
    const workspace = await t.parley.workspaces.create({});
    const file = `/v1/workspaces/${workspace.id}/files?path=a`;
    expect((await t.call("PUT", file, { body: new Uint8Array(left) })).status).toBe(200);
    const refused = [
      () => ask({ metadata }),
      () => generate({ metadata }),
      () => ask({ responseFormat }),
      () => post("/v1/workspaces", { metadata }),
      () => t.call("PATCH", other, { body: { metadata } }),
      () => t.call("PATCH", `/v1/workspaces/${workspace.id}`, { body: { metadata } }),
    ];
    for (const door of refused) expect(statusAndCode(await door())).toEqual(full);
    expect((await ask({})).status).toBe(201);
  });

  test("has its tools refused what goes beyond, and its turn told so", async () => {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t, { tools: ["memory"], approvalInChat: { default: "manual" } });
    const message = script(`tool=memory_save args={"text":"${noise(2_500)}"} ; text="Done."`);
    const { sessionId } = await play(t, agentId, null, { message, stream: false });
    const workspace = await t.parley.workspaces.create({});
    const left = 1_000;
    const body = new Uint8Array(mib - (await stored(t)) - left);
    await limit(t, 1);
    expect((await t.call("PUT", `/v1/workspaces/${workspace.id}/files?path=a`, { body })).status).toBe(200);
    const { approvals, continuation } = await t.parley.toolApprovals.list(agentId, sessionId);
    const path = sessionPath(agentId, sessionId);
    await t.call("POST", `${path}/tool-approvals/${approvals[0]?.id}`, { body: { approved: true } });
    const followed = await t.call("GET", `${path}/tool-approval-continuations/${continuation?.id}`);
    expect(followed.body).toContain("may store 1 MiB");
    expect((await t.call("GET", `/v1/agents/${agentId}/memories`)).body.data).toEqual([]);
  });
});
