import { describe, expect, test } from "bun:test";
import { MemoryRelay } from "../../../src/kernel/relay/memory.ts";
import { Reaper } from "../../../src/sessions/recover/reap.ts";
import { useAgent } from "../../harness/fixture.ts";
import { eventually } from "../../harness/harness.ts";
import { userMessage } from "../../harness/seed.ts";

/** A service that is not held up responds within this. */
const promptMs = 3_000;
const backlogRows = 50_000;

const { h, t, agentId } = await useAgent({ worker: true, relay: new MemoryRelay() });
const sessions = `/v1/agents/${agentId}/sessions`;

describe("the queue", () => {
  const ask = async (text: string) => {
    const startedAt = Date.now();
    const response = await t.call("POST", sessions, { body: { message: userMessage(text), stream: false } });
    return { ...response, tookMs: Date.now() - startedAt };
  };

  test("malformed jobs are dead letters at once, those that name nothing are done, and neither harms anything", async () => {
    const turnId = "turn_000000000000000000000000";
    const payloads = [
      {},
      [],
      [{}, {}],
      "text",
      7,
      null,
      { turnId: 5, lockKey: {} },
      { turnId },
      { turnId, lockKey: "ss_000000000000000000000000", tenantId: "ten_000000000000000000000000" },
      { turnId: "' or true --", lockKey: "x".repeat(100_000), tenantId: "' or true --" },
      { turnId: "\u0001", lockKey: "", tenantId: "\u0001" },
    ];
    for (const payload of payloads) {
      for (const name of ["turn", "agent.purge", "tenant.purge"])
        await h.sql`select graphile_worker.add_job(${name}, ${JSON.stringify(payload)}::text::json)`;
    }
    await eventually(async () => (await jobsLeft()) === 0);
    const dead = await h.sql`select distinct last_error, attempts from graphile_worker.jobs`;
    expect([...dead]).toEqual([{ lastError: expect.stringContaining("malformed"), attempts: 1 }]);
    expect((await ask('[[sim: text="all the same"]]')).status).toBe(201);
  });

  test("a job that names a running turn, or one under a wrong lock, does not disturb it", async () => {
    const response = ask('[[sim: firstDelayMs=1500 text="undisturbed"]]');
    const turn = await eventually(async () => {
      const [row] = await h.sql<{ id: string; sessionId: string }[]>`
        select id, session_id from turns where status = 'running'`;
      return row;
    });
    for (const lockKey of [turn.sessionId, turn.id, "elsewhere"]) {
      const payload = JSON.stringify({ turnId: turn.id, lockKey, tenantId: t.id });
      await h.sql`select graphile_worker.add_job('turn', ${payload}::text::json)`;
    }
    expect((await response).status).toBe(201);
    const [row] = await h.sql`select status, attempt from turns where id = ${turn.id}`;
    expect(row).toEqual({ status: "succeeded", attempt: 1 });
    // A lock is released a moment after its turn has ended.
    const locks = () =>
      h.sql`select 1 from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`;
    await eventually(async () => (await locks()).length === 0);
  });

  test(`${backlogRows} waiting turns hold up neither new ones nor the reaper`, async () => {
    await h.sql`update tenants set queued_turns = null where id = ${t.id}`;
    await h.sql`
      insert into turns (id, tenant_id, agent_id, session_id, kind, agent_version, assistant_message_id, accepted_at)
      select 'turn_' || lpad(n::text, 24, '0'), ${t.id}, 'ag', 'ss_' || lpad(n::text, 24, '0'), 'session', 1, 'm',
        now() - interval '1 hour'
      from generate_series(1, ${backlogRows}) n`;
    await h.sql`
      insert into graphile_worker._private_jobs (task_id, payload, run_at, key)
      select (select id from graphile_worker._private_tasks where identifier = 'turn'),
        json_build_object('turnId', id, 'lockKey', session_id, 'tenantId', tenant_id), now() + interval '1 hour', id
      from turns where status = 'queued'`;
    await h.sql`analyze turns`;
    const reaper = new Reaper(h.ctx);
    const startedAt = Date.now();
    await eventually(async () => {
      await reaper.scan();
      return Date.now() - startedAt > 5_000; // It acts only after it has watched for a while.
    });
    const scannedAt = Date.now();
    await reaper.scan();
    const scanMs = Date.now() - scannedAt;
    const { status, tookMs } = await ask('[[sim: text="in between"]]');
    process.stderr.write(`  backlog: a scan takes ${scanMs} ms, a turn ${tookMs} ms\n`);
    expect(status).toBe(201);
    expect(scanMs).toBeLessThan(promptMs);
    expect(tookMs).toBeLessThan(promptMs);
    await h.sql`delete from graphile_worker._private_jobs where run_at > now() + interval '1 minute'`;
    await h.sql`delete from turns where status = 'queued'`;
  }, 60_000);

  /** Jobs that somebody still runs, or will. */
  async function jobsLeft(): Promise<number> {
    const [row] = await h.sql<{ n: number }[]>`
      select count(*)::int as n from graphile_worker.jobs
      where task_identifier in ('turn', 'agent.purge', 'tenant.purge') and (attempts < max_attempts or locked_at is not null)`;
    return row?.n ?? 0;
  }
});
