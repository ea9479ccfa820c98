import { describe, expect, test } from "bun:test";
import type postgres from "postgres";
import { MemoryRelay } from "../../../src/kernel/relay/memory.ts";
import { Reaper } from "../../../src/sessions/recover/reap.ts";
import { useAgent } from "../../harness/fixture.ts";
import { eventually } from "../../harness/harness.ts";
import { heldMark, holdModel } from "../../harness/held-model.ts";
import { withPatientClient } from "../../harness/patient-client.ts";
import { makeAgent, userMessage } from "../../harness/seed.ts";
import { requestsOf } from "../../harness/turns.ts";

/** A service that is not held up does so much within this, where the machine does not stand still just then. */
const promptMs = 3_000;
const backlogRows = 50_000;

const { h, t, agentId } = await useAgent({ worker: true, relay: new MemoryRelay() });
const sessions = `/v1/agents/${agentId}/sessions`;
/** The jobs that the tests add; beside them are those of the clock, every minute. */
const added = h.sql`task_identifier in ('turn', 'agent.purge', 'tenant.purge')`;

describe("the queue", () => {
  const ask = (text: string) => t.call("POST", sessions, { body: { message: userMessage(text), stream: false } });

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
    const dead = await h.sql`select distinct last_error, attempts from graphile_worker.jobs where ${added}`;
    expect([...dead]).toEqual([{ lastError: expect.stringContaining("malformed"), attempts: 1 }]);
    expect((await ask('[[sim: text="all the same"]]')).status).toBe(201);
  });

  test("a job that names a running turn, or one under a wrong lock, does not disturb it", async () => {
    await using held = holdModel(h.model);
    const message = userMessage(`undisturbed ${heldMark}`);
    const path = `/v1/agents/${await makeAgent({ model: held }, t)}/sessions`;
    const response = t.call("POST", path, { body: { message, stream: false } });
    const turn = await eventually(async () => {
      const [row] = await h.sql<{ id: string; sessionId: string }[]>`
        select id, session_id from turns where status = 'running'`;
      return row;
    });
    for (const lockKey of [turn.sessionId, turn.id, "elsewhere"]) {
      const payload = JSON.stringify({ turnId: turn.id, lockKey, tenantId: t.id });
      await h.sql`select graphile_worker.add_job('turn', ${payload}::text::json)`;
    }
    // The turn's own job, which is there when it was claimed with that, stays until its end.
    await eventually(async () => (await jobsLeft(turn.id)) === 0);
    held.release();
    expect((await response).status).toBe(201);
    expect(requestsOf(h, message)).toHaveLength(1);
    const [row] = await h.sql`select status, attempt from turns where id = ${turn.id}`;
    expect(row).toEqual({ status: "succeeded", attempt: 1 });
    // A lock is released a moment after its turn has ended.
    const locks = () =>
      h.sql`select 1 from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`;
    await eventually(async () => (await locks()).length === 0);
  });

  test(`${backlogRows} waiting turns hold up neither new ones nor the reaper`, async () => {
    await h.sql`update tenants set queued_turns = null where id = ${t.id}`;
    await withPatientClient(h.databaseUrl, writeBacklog);
    const reaper = new Reaper(h.ctx);
    const startedAt = Date.now();
    await eventually(async () => {
      await reaper.scan();
      return Date.now() - startedAt > 5_000; // It acts only after it has watched for a while.
    });
    await expectPrompt("a scan", () => reaper.scan());
    await expectPrompt("a turn", async () => expect((await ask('[[sim: text="in between"]]')).status).toBe(201));
    await withPatientClient(h.databaseUrl, async (sql) => {
      await sql`delete from graphile_worker._private_jobs where run_at > now() + interval '1 minute'`;
      await sql`delete from turns where status = 'queued'`;
    });
  }, 120_000);

  async function writeBacklog(sql: postgres.Sql): Promise<void> {
    await sql`
      insert into turns (id, tenant_id, agent_id, session_id, kind, agent_version, assistant_message_id, accepted_at)
      select 'turn_' || lpad(n::text, 24, '0'), ${t.id}, 'ag', 'ss_' || lpad(n::text, 24, '0'), 'session', 1, 'm',
        now() - interval '1 hour'
      from generate_series(1, ${backlogRows}) n`;
    await sql`
      insert into graphile_worker._private_jobs (task_id, payload, run_at, key)
      select (select id from graphile_worker._private_tasks where identifier = 'turn'),
        json_build_object('turnId', id, 'lockKey', session_id, 'tenantId', tenant_id), now() + interval '1 hour', id
      from turns where status = 'queued'`;
    await sql`analyze turns`;
  }

  /** Does something until it was prompt. What is held up never is; a machine that stood still for a moment is at the next try. */
  async function expectPrompt(what: string, work: () => Promise<unknown>): Promise<void> {
    await eventually(async () => {
      const startedAt = Date.now();
      await work();
      const tookMs = Date.now() - startedAt;
      process.stderr.write(`  backlog: ${what} takes ${tookMs} ms\n`);
      return tookMs < promptMs;
    }, 30_000);
  }

  /** Jobs that somebody still runs, or will; `but` is the key of one that is not meant. */
  async function jobsLeft(but = ""): Promise<number> {
    const [row] = await h.sql<{ n: number }[]>`
      select count(*)::int as n from graphile_worker.jobs
      where ${added} and key is distinct from ${but} and (attempts < max_attempts or locked_at is not null)`;
    return row?.n ?? 0;
  }
});
