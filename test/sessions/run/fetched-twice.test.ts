import { afterAll, describe, expect, test } from "bun:test";
import { openDatabase } from "../../../src/kernel/database/client.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { addTurnJob } from "../../../src/sessions/state/turn-job.ts";
import { type BareWorker, startBareWorker } from "../../harness/bare-worker.ts";
import { useAgent } from "../../harness/fixture.ts";
import { eventually } from "../../harness/harness.ts";
import { heldMark, holdModel } from "../../harness/held-model.ts";
import { aftermathOf, processWaitMs, sharedRedisUrl, startInstallation } from "../../harness/processes.ts";
import { writeQueuedTurn } from "../../harness/queued-turn.ts";
import type { LogLine } from "../../harness/service-process.ts";
import { expectWhole, turnsIn } from "../../harness/turn-checks.ts";

// No worker runs beside those of the test.
const { h, t, agentId } = await useAgent();
const outside = openDatabase({ url: h.databaseUrl, max: 1, applicationName: "parley-test-outside" });
const workers: BareWorker[] = [];
afterAll(async () => {
  await Promise.all(workers.map(({ connection }) => connection.close()));
  await outside.end();
});

async function start(): Promise<BareWorker> {
  const worker = await startBareWorker(h, { slots: 4 });
  workers.push(worker);
  return worker;
}

/** Holds a session's lock on a connection of the test's until `work` has resolved. */
const withLock = <T>(lockKey: string, work: () => Promise<T>) =>
  outside.begin(async (inner) => {
    await inner`select pg_advisory_xact_lock(hashtextextended(${lockKey}, 0))`;
    return work();
  });

const outcomeOf = (result: unknown) => (typeof result === "string" ? result : "claimed");

describe("a turn's job that is fetched", () => {
  test("while another worker runs the turn is done at once", async () => {
    const [{ turns: first }, { turns: second }] = [await start(), await start()];
    const queued = await writeQueuedTurn(h, t, agentId);
    const running = await first.claim({ ...queued, way: "job" });
    if (typeof running === "string") throw new Error(running);
    for (const way of ["job", "parked", "counted"] as const)
      expect(await second.claim({ ...queued, way })).toBe("gone");
    expect(await first.claim({ ...queued, way: "job" })).toBe("gone");
    await first.run(running, async () => {});
  });

  test("while this worker claims the turn shares what becomes of that", async () => {
    const { turns } = await start();
    const queued = await writeQueuedTurn(h, t, agentId);
    const [announced, job] = await withLock(queued.lockKey, () =>
      Promise.all([turns.claim({ ...queued, way: "job" }), turns.claim({ ...queued, way: "job" })]),
    );
    // Were it done while the other one failed, nobody would run the turn.
    expect([announced, job]).toEqual(["busy", "busy"]);
    const both = await Promise.all([turns.claim({ ...queued, way: "job" }), turns.claim({ ...queued, way: "job" })]);
    expect(both.map(outcomeOf)).toEqual(["claimed", "gone"]);
  });

  test("while the turn's last claim still ends here is not taken for done", async () => {
    const { turns } = await start();
    const queued = await writeQueuedTurn(h, t, agentId);
    const running = await turns.claim({ ...queued, way: "job" });
    if (typeof running === "string") throw new Error(running);
    const ending = Promise.withResolvers<void>();
    const ran = turns.run(running, () => ending.promise);
    await h.sql`update turns set status = 'queued', worker_id = null, claimed_at = null where id = ${queued.turnId}`;
    const again = turns.claim({ ...queued, way: "job" });
    ending.resolve();
    await ran;
    expect(outcomeOf(await again)).toBe("claimed");
    const [row] = await h.sql`select attempt from turns where id = ${queued.turnId}`;
    expect(row?.attempt).toBe(2);
  });
});

test("a session is free for its next turn while the readers of the one before are still told of its end", async () => {
  const [{ turns: first }, { turns: second, connection }] = [await start(), await start()];
  const queued = await writeQueuedTurn(h, t, agentId);
  const running = await first.claim({ ...queued, way: "job" });
  if (typeof running === "string") throw new Error(running);
  const told = Promise.withResolvers<void>();
  const ran = first.run(running, async ({ freeSession }) => {
    await h.sql`update turns set status = 'succeeded' where id = ${queued.turnId}`;
    freeSession();
    await told.promise;
  });
  const turnId = newId("turn");
  await h.sql`
    insert into turns (id, tenant_id, agent_id, session_id, kind, agent_version, assistant_message_id)
    values (${turnId}, ${t.id}, ${agentId}, ${queued.lockKey}, 'session', 1, ${newId("message")})`;
  expect(outcomeOf(await second.claim({ ...queued, turnId, way: "job" }))).toBe("claimed");
  told.resolve();
  await ran;
  // Nothing was released twice: the lock is the second one's.
  const [held] = await h.sql`
    select count(*)::int as n from pg_locks l join pg_stat_activity a using (pid)
    where l.locktype = 'advisory' and l.objsubid = 1 and a.application_name = ${connection.applicationName}
      and ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended(${queued.lockKey}, 0)`;
  expect(held?.n).toBe(1);
});

/** A busy machine makes event loops stand, which says nothing of turns. */
const isAlarm = ({ level, msg }: LogLine) => (level === "warn" || level === "error") && msg !== "the event loop stood";

test.skipIf(sharedRedisUrl === null)(
  "two workers leave nothing behind of turns whose jobs both fetch while they run, or whose session stays locked",
  async () => {
    await using installation = await startInstallation();
    await using model = holdModel(installation.model);
    const { sql } = installation;
    const c = await installation.client((await installation.serve()).url, model.url);
    const workers = await Promise.all([installation.work(), installation.work()]);
    const alarms = () => workers.flatMap(({ log }) => log.filter(isAlarm));
    // On a busy machine turns run by their jobs: one of these that was replaced is without a key, and there until its turn has ended.
    const jobs = () => sql<{ lastError: string | null }[]>`
      select last_error from graphile_worker._private_jobs
      where payload ->> 'turnId' is not null and (key is not null or locked_at is null)`;

    const first = await c.turn('first [[sim: text="one"]]');
    await aftermathOf(sql, first.turnId);
    const turns = await Promise.all(Array.from({ length: 24 }, () => c.turn(`long ${heldMark} [[sim: text="done"]]`)));
    await eventually(async () => (await turnsIn(installation, "running")) === turns.length, processWaitMs);
    for (let round = 0; round < 4; round++) {
      await sql`
        select ${addTurnJob(sql)} from (select id, session_id, tenant_id from turns where status = 'running') running`;
      await eventually(async () => {
        const left = await jobs();
        // None fails, to be tried again.
        expect(left.filter(({ lastError }) => lastError !== null)).toEqual([]);
        return left.length === 0;
      }, processWaitMs);
    }

    // As after an outage that used up the attempts of a job while its turn was claimed without it.
    const spent = turns[0]?.turnId ?? "";
    await sql`
      select graphile_worker.add_job('turn', '{}', job_key => ${spent}, run_at => now() + interval '1 hour', max_attempts => 1)`;
    await sql`update graphile_worker._private_jobs set attempts = 1 where key = ${spent}`;

    const next = await sql.begin(async (inner) => {
      await inner`select pg_advisory_xact_lock(hashtextextended(${first.sessionId}, 0))`;
      const turn = await c.turn('second [[sim: text="two"]]', first.sessionId);
      await eventually(async () => {
        const [parked] = await sql`select 1 from turns where id = ${turn.turnId} and parked_at is not null`;
        return parked !== undefined;
      }, processWaitMs);
      return turn;
    });
    await next.stream.closed;
    expectWhole(next, "two");
    model.release();
    await Promise.all(turns.map(({ stream }) => stream.closed));
    for (const { turnId } of [...turns, next])
      expect(await aftermathOf(sql, turnId)).toEqual({ status: "succeeded", attempt: 1, metered: 1, messages: 2 });
    await eventually(async () => (await jobs()).length === 0, processWaitMs);
    await eventually(
      async () => (await sql`select 1 from graphile_worker._private_jobs where key = ${spent}`).length === 0,
      processWaitMs,
    );
    expect(alarms()).toEqual([]);
  },
  120_000,
);
