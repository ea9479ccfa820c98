import { describe, expect, test } from "bun:test";
import { endTurnsOf } from "../../../src/sessions/cancel/end-all.ts";
import { useService } from "../../harness/fixture.ts";
import { eventually, type Harness, type TestTenant } from "../../harness/harness.ts";
import { busySession, lineIs, textOfMessage } from "../../harness/line.ts";
import { makeAgent, userMessage } from "../../harness/seed.ts";
import { statusAndCode } from "../../harness/status-and-code.ts";
import { idle, type LiveStream, messagesOf, open, play, sessionPath } from "../../harness/turns.ts";

const h: Harness = await useService({ worker: true });
const errorOf = async (stream: LiveStream) => {
  const events = await stream.rest();
  expect(events.at(-1)?.data).toBe("[DONE]");
  const last = events.at(-2)?.data as { type: string; errorText?: string };
  return last.type === "error" ? last.errorText : last.type;
};

async function busy(
  queuedTurns: number | null = null,
): Promise<{ t: TestTenant; agentId: string; s: Awaited<ReturnType<typeof busySession>> }> {
  const t = await h.tenant();
  if (queuedTurns !== null) await h.sql`update tenants set queued_turns = ${queuedTurns} where id = ${t.id}`;
  const agentId = await makeAgent(h, t);
  return { t, agentId, s: await busySession(h, t, agentId) };
}

describe("a turn of a line meets at its start", () => {
  test("usage_credit_required: spent, it is refused; bought meanwhile, it runs", async () => {
    const { t, s } = await busy();
    await h.sql`update tenants set usage_credit = 0 where id = ${t.id}`;
    const refused = await s.send("refused");
    expect(refused.response.status).toBe(200);
    await s.cancel();
    expect(await errorOf(refused)).toContain("credit");
    await lineIs(h, s.sessionId, 0);
    const [row] = await h.sql`select status, error from turns where id = ${refused.turnId}`;
    expect(row).toMatchObject({ status: "failed", error: { code: "usage_credit_required" } });
    expect(await s.texts()).toHaveLength(2);
  });

  test("quota_exceeded: the quota, which counts only what starts", async () => {
    const { t, agentId, s } = await busy();
    const queued = [await s.send("one"), await s.send("two")];
    const [used] = await h.sql<{ turns: number }[]>`
      select count(*)::int as turns from turns where tenant_id = ${t.id} and status <> 'enqueued'`;
    await h.sql`update tenants set quota_turns_per_day = ${(used?.turns ?? 0) + 1} where id = ${t.id}`;
    await h.sql`
      insert into turn_quota_days (tenant_id, day, turns) values (${t.id}, (now() at time zone 'UTC')::date, ${used?.turns ?? 0})
      on conflict (tenant_id, day) do update set turns = excluded.turns`;
    const waiting = play(t, agentId, s.sessionId, { message: userMessage("three"), onBusy: "enqueue", stream: false });
    await lineIs(h, s.sessionId, 3);
    await s.cancel();
    expect(await errorOf(queued[0] as LiveStream)).toBe("finish");
    expect(await errorOf(queued[1] as LiveStream)).toMatch(/quota|day/i);
    expect(statusAndCode(await waiting)).toEqual([429, "quota_exceeded"]);
  });

  test("the agent's newest version, and its state", async () => {
    const { t, agentId, s } = await busy();
    const first = await s.send("first");
    const updated = await t.call("PUT", `/v1/agents/${agentId}`, { body: { instructions: "Say it anew." } });
    expect(updated.status).toBe(200);
    const version = updated.body.version;
    const { body: agent } = await t.call("GET", `/v1/agents/${agentId}`);
    await s.cancel();
    expect(await errorOf(first)).toBe("finish");
    const [ran] = await h.sql`select agent_version from turns where id = ${first.turnId}`;
    expect(ran?.agentVersion).toBe(version ?? agent.version);
    const second = await busySession(h, t, agentId);
    const refused = await second.send("refused");
    expect((await t.call("POST", `/v1/agents/${agentId}/disable`)).status).toBe(200);
    await second.cancel();
    expect(await errorOf(refused)).toMatch(/disabled/i);
  });

  test("a deleted agent: it ends as canceled", async () => {
    const { t, agentId, s } = await busy();
    const streams = [await s.send("one"), await s.send("two")];
    expect((await t.call("DELETE", `/v1/agents/${agentId}`)).status).toBe(204);
    for (const stream of streams) expect(await errorOf(stream)).toBe("abort");
  });

  test("tenant_deleting: what runs ends, the line is refused", async () => {
    const { t, s } = await busy();
    const stream = await s.send("one");
    await h.sql`update tenants set deleting_at = now() where id = ${t.id}`;
    await s.cancel();
    const [row] = await eventually(async () => {
      const rows = await h.sql`select error from turns where id = ${stream.turnId} and status = 'failed'`;
      return rows.length > 0 ? rows : null;
    });
    expect(row?.error.code).toBe("tenant_deleting");
    await stream.leave();
  });
});

describe("the line", () => {
  test("counts as queued: the tenant's limit, the session's deletion, and `queue end`", async () => {
    const { t, agentId, s } = await busy(2);
    const streams = [];
    const sent = await Promise.all([1, 2, 3, 4].map((n) => s.send(`turn ${n}`)));
    for (const stream of sent) if (stream.response.status === 200) streams.push(stream);
    expect(sent.map(({ response }) => response.status).sort()).toEqual([200, 200, 429, 429]);
    const path = sessionPath(agentId, s.sessionId);
    expect(statusAndCode(await t.call("DELETE", `${path}?deleteArtifacts=false`))).toEqual([409, "session_busy"]);
    const ended = await endTurnsOf(h.sql, t.id as never, {});
    expect(ended).toEqual({ queued: 2, running: 1, waiting: 0 });
    for (const stream of streams) expect(await errorOf(stream)).toBe("abort");
    await idle(h, s.sessionId);
    await lineIs(h, s.sessionId, 0);
    expect((await t.call("DELETE", `${path}?deleteArtifacts=false`)).status).toBe(204);
  });

  test("a regeneration waits too, and finds what it regenerates when it starts", async () => {
    const { t, agentId, s } = await busy();
    const path = sessionPath(agentId, s.sessionId);
    const said = await s.send("said");
    const again = await open(h, t, "POST", path, { body: { trigger: "regenerate-message", onBusy: "enqueue" } });
    expect(again.response.status).toBe(200);
    await s.cancel();
    expect(await errorOf(said)).toBe("finish");
    expect(await errorOf(again)).toBe("finish");
    const messages = await messagesOf(t, agentId, s.sessionId);
    expect(messages).toHaveLength(4);
    expect(messages.map(textOfMessage)[2]).toBe("said");
    const turns = await h.sql<
      { id: string }[]
    >`select turn_id as id from messages where session_id = ${s.sessionId} order by seq`;
    expect(turns.at(-1)?.id).toBe(again.turnId);
    const fresh = userMessage("not held yet");
    const sent = await busySession(h, t, agentId);
    const asNew = await open(h, t, "POST", sessionPath(agentId, sent.sessionId), {
      body: { trigger: "regenerate-message", message: fresh, onBusy: "interrupt" },
    });
    expect(await errorOf(asNew)).toBe("finish");
    expect((await sent.texts()).at(-2)).toBe("not held yet");
    const other = await busySession(h, t, agentId);
    const gone = await open(h, t, "POST", sessionPath(agentId, other.sessionId), {
      body: { trigger: "regenerate-message", messageId: "msg_gone", onBusy: "enqueue" },
    });
    await other.cancel();
    expect(await errorOf(gone)).toMatch(/message/i);
  });

  test("form A: a session whose first turn fails stays for the line behind it", async () => {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t);
    const body = { message: { ...userMessage('[[sim: text="one two" hangAfterChunks=1]]') } };
    const first = await open(h, t, "POST", sessionPath(agentId, null), { form: "a", body });
    await first.until("text-delta");
    const path = sessionPath(agentId, first.sessionId);
    const next = await open(h, t, "POST", path, { form: "a", body: { message: userMessage("on"), onBusy: "enqueue" } });
    expect((await t.call("POST", `${path}/cancel`, { form: "a" })).status).toBe(202);
    expect(await errorOf(next)).toBe("finish");
    expect(await messagesOf(t, agentId, first.sessionId)).toHaveLength(2);
  });

  test("many ends beside many turns that come: none is lost, none runs twice", async () => {
    const { t, agentId, s } = await busy();
    await s.cancel();
    await idle(h, s.sessionId);
    const path = sessionPath(agentId, s.sessionId);
    const send = async (n: number) => {
      const body = { message: userMessage(`turn ${n}`), onBusy: "enqueue", stream: false };
      return (await t.call("POST", path, { body })).status;
    };
    const statuses: number[] = [];
    // Each of these begins its next turn in the moment in which one has ended.
    const client = async (first: number) => {
      for (let n = 0; n < 15; n++) statuses.push(await send(first + n));
    };
    await Promise.all([0, 100, 200, 300].map(client));
    expect(statuses).toEqual(Array.from({ length: 60 }, () => 200));
    await lineIs(h, s.sessionId, 0);
    const texts = (await s.texts()).filter((text) => /^turn \d+$/.test(text));
    expect(new Set(texts).size).toBe(60);
    expect(texts).toHaveLength(60);
  });
});
