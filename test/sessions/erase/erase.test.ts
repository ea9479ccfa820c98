import { describe, expect, test } from "bun:test";
import type postgres from "postgres";
import { newId } from "../../../src/kernel/ids.ts";
import { RedisRelay } from "../../../src/kernel/relay/redis.ts";
import { purgeSession } from "../../../src/sessions/erase/session.ts";
import { useTenant } from "../../harness/fixture.ts";
import { eventually, sharedRedisUrl } from "../../harness/harness.ts";
import { withPatientClient } from "../../harness/patient-client.ts";
import { makeAgent, userMessage } from "../../harness/seed.ts";
import { redisKeysWith, tablesWith } from "../../harness/traces.ts";
import { messagesOf, play, script, sessionPath } from "../../harness/turns.ts";

const relay = sharedRedisUrl === null ? null : new RedisRelay({ url: sharedRedisUrl, onError: () => {} });
const { h, t } = await useTenant({ worker: true, ...(relay === null ? {} : { relay }) });

/** A text that occurs nowhere else. */
const unique = () => `zebra${crypto.randomUUID().replaceAll("-", "")}`;

async function everywhere(text: string): Promise<string[]> {
  const keys = sharedRedisUrl === null ? [] : await redisKeysWith(sharedRedisUrl, text);
  return [...(await tablesWith(h.sql, text)), ...keys];
}

const gone = (text: string) => eventually(async () => (await everywhere(text)).length === 0);

/** A session with the text in everything that a session can hold; returns its id. */
async function fullSession(agentId: string, text: string): Promise<string> {
  const todo = `[{"content":"${text}","status":"pending"}]`;
  const first = await play(t, agentId, null, {
    message: script(`tool=write_todos args={"todos":${todo}} ; text="${text} done"`),
    metadata: { about: text },
  });
  const { sessionId } = first;
  const { approvals } = (await t.call("GET", sessionPath(agentId, sessionId, "/tool-approvals"))).body;
  for (const { id } of approvals)
    await t.call("POST", sessionPath(agentId, sessionId, `/tool-approvals/${id}`), {
      body: { approved: true, reason: text },
    });
  await eventually(async () => (await messagesOf(t, agentId, sessionId)).length === 2);
  await eventually(
    async () => (await h.sql`select 1 from turns where session_id = ${sessionId} and finished_at is null`).length === 0,
  );
  await play(t, agentId, sessionId, { message: script(`fail=400 text="${text}"`) });
  await h.sql`insert into session_summaries (session_id, upto_seq, text) values (${sessionId}, 1, ${text})`;
  return sessionId;
}

describe("DELETE of a session", () => {
  test("erases every word of it in Postgres and Redis; another session and the usage stay", async () => {
    const agentId = await makeAgent(h, t, { tools: ["write_todos"], approvalInChat: { default: "manual" } });
    const [text, other] = [unique(), unique()];
    const sessionId = await fullSession(agentId, text);
    const kept = await fullSession(agentId, other);
    const before = await everywhere(text);
    for (const table of ["messages", "turns", "sessions", "session_summaries", "approvals", "usage"])
      expect(before).toContain(`public.${table}`);
    if (relay !== null) expect(before.filter((name) => name.startsWith("parley:")).length).toBeGreaterThan(1);
    expect((await t.call("DELETE", sessionPath(agentId, sessionId, "?deleteArtifacts=true"))).status).toBe(204);
    expect((await t.call("GET", sessionPath(agentId, sessionId, "/messages"))).status).toBe(404);
    await gone(text);
    expect(await h.sql`select 1 from sessions where id = ${sessionId}`).toHaveLength(0);
    expect(await h.sql`select 1 from turns where session_id = ${sessionId}`).toHaveLength(0);
    expect(await h.sql`select 1 from usage where session_id = ${sessionId}`).toHaveLength(2);
    expect(await messagesOf(t, agentId, kept)).toHaveLength(2);
    const left = await everywhere(other);
    for (const table of ["messages", "turns", "sessions", "session_summaries", "approvals", "usage"])
      expect(left).toContain(`public.${table}`);
  });

  test("that waits for its caller's tool, with a line behind it and answers by schema, leaves no word either", async () => {
    const clientTools = [{ name: "locate", description: "Where?", inputSchema: { type: "object" } }];
    const agentId = await makeAgent(h, t, { clientTools } as never);
    const text = unique();
    const responseFormat = { type: "json_schema", schema: { type: "object", description: text } };
    const { sessionId } = await play(t, agentId, null, {
      message: script(`tool=locate args={"q":"${text}"} ; text="{}"`),
      responseFormat,
    });
    const path = sessionPath(agentId, sessionId);
    const waiting = t.call("POST", path, { body: { message: userMessage(text), onBusy: "enqueue", responseFormat } });
    await eventually(async () => (await t.call("GET", path)).body.queuedTurns === 1);
    const before = await everywhere(text);
    for (const table of ["client_calls", "turns", "messages"]) expect(before).toContain(`public.${table}`);
    const canceled = await t.call("POST", `${path}/cancel`, { body: { keep: "partial", queued: true } });
    expect([canceled.status, canceled.body]).toEqual([202, { canceled: 2 }]);
    expect((await waiting).status).toBe(200);
    await eventually(async () => (await t.call("DELETE", `${path}?deleteArtifacts=true`)).status === 204);
    await gone(text);
  });

  test("of a task's run leaves no word of its answer's schema in the run", async () => {
    const agentId = await makeAgent(h, t);
    const text = unique();
    const responseFormat = { type: "json_schema", schema: { type: "object", description: text } };
    const body = { agentId, name: "n", prompt: '[[sim: text="{}"]]', responseFormat };
    const task = await t.call("POST", "/v1/tasks", { body });
    expect([task.status, task.body]).toEqual([201, task.body]);
    const run = await t.call("POST", `/v1/tasks/${task.body.task.id}/runs`, { body: {} });
    expect([run.status, run.body]).toEqual([202, run.body]);
    const sessionOf = async () =>
      (await h.sql`select session_id from turns where agent_id = ${agentId} and finished_at is not null`)[0]?.sessionId;
    await eventually(async () => (await sessionOf()) !== undefined);
    const path = sessionPath(agentId, await sessionOf(), "?deleteArtifacts=true");
    expect((await t.call("DELETE", path)).status).toBe(204);
    await eventually(async () => !(await everywhere(text)).some((place) => place !== "public.tasks"));
    expect((await t.call("DELETE", `/v1/tasks/${task.body.task.id}`)).status).toBe(204);
    await gone(text);
  });

  test("form A's session whose first turn failed goes by itself", async () => {
    const agentId = await makeAgent(h, t);
    const text = unique();
    const failed = await play(t, agentId, null, { message: script(`fail=400 text="${text}"`) }, { form: "a" });
    expect(await everywhere(text)).toContain("public.turns");
    const key = `session.purge:${failed.sessionId}`;
    const [job] = await h.sql`select run_at > now() as later from graphile_worker.jobs where key = ${key}`;
    expect(job?.later).toBe(true);
    await purgeSession(h.ctx, { sessionId: failed.sessionId, tenantId: t.id });
    expect(await everywhere(text)).toEqual([]);
  });

  test("does nothing to a session that exists, and repeats what was broken off", async () => {
    const agentId = await makeAgent(h, t);
    const text = unique();
    const { sessionId } = await play(t, agentId, null, { message: userMessage(text) });
    await purgeSession(h.ctx, { sessionId, tenantId: t.id });
    expect(await messagesOf(t, agentId, sessionId)).toHaveLength(2);
    // As a worker leaves it that dies after the first steps.
    await h.sql`update sessions set deleted_at = now() where id = ${sessionId}`;
    await h.sql`delete from messages where session_id = ${sessionId}`;
    await purgeSession(h.ctx, { sessionId, tenantId: t.id });
    expect(await everywhere(text)).toEqual([]);
    await purgeSession(h.ctx, { sessionId, tenantId: t.id });
  });

  test("while the relay is away the turns wait for it, and nothing else does", async () => {
    const agentId = await makeAgent(h, t);
    const text = unique();
    const { sessionId } = await play(t, agentId, null, { message: userMessage(text), metadata: { about: text } });
    await h.sql`update sessions set deleted_at = now() where id = ${sessionId}`;
    const away = Object.assign(Object.create(h.ctx.relay), { erase: () => Promise.reject(new Error("away")) });
    await expect(purgeSession({ sql: h.ctx.sql, relay: away }, { sessionId, tenantId: t.id })).rejects.toThrow("away");
    await eventually(async () => !(await tablesWith(h.sql, text)).includes("public.messages"));
    expect(await tablesWith(h.sql, text)).toContain("public.turns");
    await purgeSession(h.ctx, { sessionId, tenantId: t.id });
    expect(await everywhere(text)).toEqual([]);
  });

  test("more turns and messages than one statement deletes, and a message larger than a step", async () => {
    const agentId = await makeAgent(h, t);
    const sessionId = newId("session");
    const seed = (sql: postgres.Sql) => sql`
      with session as (
        insert into sessions (id, tenant_id, agent_id, visible, message_count, deleted_at)
        values (${sessionId}, ${t.id}, ${agentId}, true, 4, now()) returning id
      ), written as (
        insert into messages (session_id, seq, id, role, turn_id, content)
        select id, seq, 'msg_' || seq, 'user', 'turn_x',
          case when seq = 7 then json_build_object('t', (select string_agg(md5(n::text), '') from generate_series(1, 600000) n))
            else '{}' end
        from session, generate_series(1, 25000) seq
      )
      insert into turns (id, tenant_id, agent_id, session_id, kind, status, agent_version, assistant_message_id, finished_at)
      select 'turn_' || ${sessionId} || n, ${t.id}, ${agentId}, id, 'session', 'succeeded', 1, '', now() - interval '2 days'
      from session, generate_series(1, 25000) n`;
    await withPatientClient(h.databaseUrl, seed);
    await purgeSession(h.ctx, { sessionId, tenantId: t.id });
    // What did not fit into one job's time goes on in the next.
    await eventually(async () => (await h.sql`select 1 from sessions where id = ${sessionId}`).length === 0, 60_000);
    expect(await h.sql`select 1 from messages where session_id = ${sessionId} limit 1`).toHaveLength(0);
    expect(await h.sql`select 1 from turns where session_id = ${sessionId} limit 1`).toHaveLength(0);
  }, 120_000);

  test("404 not_found: a response that waits for a turn's message, when the session is erased the moment the turn has ended", async () => {
    const agentId = await makeAgent(h, t);
    await h.sql`
      create function erase_ended() returns trigger language plpgsql as $$
      begin delete from turns where id = new.id; return null; end $$`;
    await h.sql`
      create trigger erase_ended after update of status on turns for each row
      when (new.status in ('succeeded', 'failed') and new.metadata ->> 'erase' = 'at its end') execute function erase_ended()`;
    for (const text of ['text="gone"', "fail=400"]) {
      const body = { message: script(text), stream: false, metadata: { erase: "at its end" } };
      const response = await t.call("POST", sessionPath(agentId, null), { body });
      expect([response.status, response.body.error?.code]).toEqual([404, "not_found"]);
      expect(response.headers.get("x-turn-id")).toStartWith("turn_");
    }
    await h.sql`drop function erase_ended cascade`;
  });
});

describe("DELETE of an agent", () => {
  test("erases its sessions, generations, prompt, memories and skills; usage stays", async () => {
    const text = unique();
    const agentId = await makeAgent(h, t, {
      tools: ["write_todos"],
      approvalInChat: { default: "manual" },
      instructions: text,
      metadata: { about: text },
    });
    const sessionId = await fullSession(agentId, text);
    const generated = await t.call("POST", `/v1/agents/${agentId}/generate`, {
      body: { messages: [userMessage(text)], stream: false, metadata: { about: text } },
    });
    expect(generated.status).toBe(200);
    await t.call("POST", `/v1/agents/${agentId}/memories`, { body: { text } });
    // One that waits for a person is cancelled, and then erased.
    await play(t, agentId, null, {
      message: script(`tool=write_todos args={"todos":[{"content":"${text}","status":"pending"}]}`),
    });
    const before = await everywhere(text);
    for (const table of ["agents", "agent_versions", "memories", "messages", "turns"])
      expect(before).toContain(`public.${table}`);
    expect((await t.call("DELETE", `/v1/agents/${agentId}`)).status).toBe(204);
    await gone(text);
    expect(await h.sql`select 1 from turns where agent_id = ${agentId}`).toHaveLength(0);
    expect((await h.sql`select 1 from usage where session_id = ${sessionId}`).length).toBe(2);
  });
});
