import { describe, expect, test } from "bun:test";
import { sweepGenerations } from "../../../src/sessions/erase/generations.ts";
import { purgeExpired, sweepRetention } from "../../../src/sessions/erase/retention.ts";
import { sweepRecords } from "../../../src/tenants/records.ts";
import { changeTenant } from "../../../src/tenants/store.ts";
import { useService } from "../../harness/fixture.ts";
import { eventually, type TestTenant } from "../../harness/harness.ts";
import { makeAgent, userMessage } from "../../harness/seed.ts";
import { tablesWith } from "../../harness/traces.ts";
import { play, script, sessionPath } from "../../harness/turns.ts";

const h = await useService({ worker: true });

/** A text that occurs nowhere else. */
const unique = () => `zebra${crypto.randomUUID().replaceAll("-", "")}`;
const traces = (text: string) => tablesWith(h.sql, text);

async function keeping(days: number | null): Promise<{ t: TestTenant; agentId: string }> {
  const t = await h.tenant();
  await changeTenant(h.sql, t.id, { retentionDays: days });
  const fields = { tools: ["memory" as const], approvalInChat: { default: "manual" as const } };
  return { t, agentId: await makeAgent(h, t, fields) };
}

/** Makes it look as if a session had been used last so many days ago. */
async function age(sessionId: string, days: number): Promise<void> {
  await h.sql`update sessions set updated_at = now() - make_interval(days => ${days}) where id = ${sessionId}`;
  await h.sql`update turns set accepted_at = now() - make_interval(days => ${days}) where session_id = ${sessionId}`;
}

async function said(t: TestTenant, agentId: string, text: string): Promise<string> {
  return (await play(t, agentId, null, { message: userMessage(text), metadata: { about: text } })).sessionId;
}

describe("the retention of a tenant", () => {
  test("deletes sessions that nobody used for that long, and keeps the others, their tenant's and other tenants'", async () => {
    const { t, agentId } = await keeping(3);
    const [old, fresh, tried] = [unique(), unique(), unique()];
    const oldId = await said(t, agentId, old);
    const freshId = await said(t, agentId, fresh);
    const triedId = await said(t, agentId, tried);
    await age(oldId, 4);
    await age(freshId, 2);
    // Its last turn failed, and did not update it; it was used all the same.
    await h.sql`update sessions set updated_at = now() - interval '4 days' where id = ${triedId}`;
    const forever = await keeping(null);
    const kept = unique();
    await age(await said(forever.t, forever.agentId, kept), 400);
    await purgeExpired(h.ctx, t.id);
    await purgeExpired(h.ctx, forever.t.id);
    expect(await traces(old)).toEqual([]);
    for (const text of [fresh, tried, kept]) expect(await traces(text)).toContain("public.messages");
    expect((await t.call("GET", sessionPath(agentId, oldId, "/messages"))).status).toBe(404);
    expect((await t.call("GET", sessionPath(agentId, null))).body.data).toHaveLength(2);
    expect(await h.sql`select 1 from usage where session_id = ${oldId}`).toHaveLength(1);
  });

  test("a turn that waits keeps its session until nobody accepted or decided anything for that long", async () => {
    const { t, agentId } = await keeping(3);
    const asks = (text: string) =>
      script(`tool=memory_save args={"text":"${text}"} tool=memory_save args={"text":"${text}"}`);
    const [left, decided, running] = [unique(), unique(), unique()];
    const leftId = (await play(t, agentId, null, { message: asks(left) })).sessionId;
    const decidedId = (await play(t, agentId, null, { message: asks(decided) })).sessionId;
    const { approvals } = (await t.call("GET", sessionPath(agentId, decidedId, "/tool-approvals"))).body;
    await t.call("POST", sessionPath(agentId, decidedId, `/tool-approvals/${approvals[0].id}`), {
      body: { approved: true },
    });
    const runningId = await said(t, agentId, running);
    await h.sql`update turns set status = 'queued', finished_at = null where session_id = ${runningId}`;
    for (const id of [leftId, decidedId, runningId]) await age(id, 4);
    await purgeExpired(h.ctx, t.id);
    expect(await traces(left)).toEqual([]);
    expect(await traces(decided)).toContain("public.approvals");
    expect(await traces(running)).toContain("public.messages");
  });

  test("deletes old generations and ended runs with them", async () => {
    const { t, agentId } = await keeping(3);
    const [old, fresh] = [unique(), unique()];
    for (const text of [old, fresh])
      await t.call("POST", `/v1/agents/${agentId}/generate`, {
        body: { messages: [userMessage(text)], stream: false, metadata: { about: text } },
      });
    await h.sql`update turns set accepted_at = now() - interval '4 days' where input::text like ${`%${old}%`}`;
    const { task } = await t.parley.tasks.create({ agentId, name: "n", prompt: "p" });
    await h.sql`insert into task_runs (id, task_id, tenant_id, agent_id, agent_version, pinned, prompt, user_id, metadata, status,
        request_id, finished_at, created_at)
      select 'tr_' || lpad(n::text, 24, '0'), ${task.id}, ${t.id}, ${agentId}, 1, false, case when n < 3 then ${old} else ${fresh} end, '', '{}',
        'succeeded', 'r', case when n = 4 then null else now() - n * interval '2 days' end, now() - interval '9 days'
      from unnest(array[2, 1, 4]) n`;
    await h.sql`update task_runs set prompt = ${fresh} where id = 'tr_000000000000000000000001'`;
    await purgeExpired(h.ctx, t.id);
    expect(await traces(old)).toEqual([]);
    const runs = await h.sql`select id from task_runs where task_id = ${task.id} order by id`;
    expect(runs.map(({ id }) => Number(id.slice(3)))).toEqual([1, 4]);
    expect(await traces(fresh)).toContain("public.turns");
  });

  test("the sweep adds a job for each tenant that has something old, and a worker does it", async () => {
    const { t, agentId } = await keeping(3);
    const text = unique();
    const id = await said(t, agentId, text);
    await sweepRetention(h.ctx.sql);
    const jobs = () => h.sql`select 1 from graphile_worker.jobs where key = ${`retention.purge:${t.id}`}`;
    expect(await jobs()).toHaveLength(0);
    await age(id, 4);
    await sweepRetention(h.ctx.sql);
    await eventually(async () => (await traces(text)).length === 0);
  });
});

describe("without a retention", () => {
  test("a generation is empty once no key can ask for its answer; the turn stays", async () => {
    const { t, agentId } = await keeping(null);
    const [old, fresh] = [unique(), unique()];
    for (const text of [old, fresh])
      await t.call("POST", `/v1/agents/${agentId}/generate`, {
        body: { messages: [userMessage(text)], stream: false },
      });
    await h.sql`update turns set finished_at = now() - interval '25 hours' where input::text like ${`%${old}%`}`;
    await sweepGenerations(h.ctx.sql);
    expect(await traces(old)).toEqual([]);
    expect(await traces(fresh)).toContain("public.turns");
    expect(await h.sql`select 1 from turns where agent_id = ${agentId}`).toHaveLength(2);
  });

  test("counts of past quotas and old dead letters go", async () => {
    const { t } = await keeping(null);
    await h.sql`insert into turn_quota_days (tenant_id, day, turns)
      select ${t.id}, (now() at time zone 'UTC')::date - n, 1 from unnest(array[0, 7, 8]) n`;
    await h.sql`select graphile_worker.add_job('no.such.task', job_key => 'k' || n) from unnest(array[1, 2]) n`;
    await h.sql`update graphile_worker._private_jobs set attempts = max_attempts, updated_at = now() - interval '91 days' where key = 'k1'`;
    await h.sql`update graphile_worker._private_jobs set attempts = max_attempts, updated_at = now() - interval '89 days' where key = 'k2'`;
    await sweepRecords(h.ctx.sql);
    expect(await h.sql`select 1 from turn_quota_days where tenant_id = ${t.id}`).toHaveLength(2);
    expect((await h.sql`select key from graphile_worker.jobs where key like 'k_'`).map(({ key }) => key)).toEqual([
      "k2",
    ]);
  });
});
