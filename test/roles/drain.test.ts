import { describe, expect, test } from "bun:test";
import { eventually } from "../harness/harness.ts";
import { heldMark, holdModel, openEndedMark } from "../harness/held-model.ts";
import { aftermathOf, callsOf, type Installation, sharedRedisUrl, startInstallation } from "../harness/processes.ts";
import type { ServiceProcess } from "../harness/service-process.ts";
import { expectBroken, expectFree, expectLost, expectWhole, hasShown, isClaimed } from "../harness/turn-checks.ts";

/** A drain that a test does not wait for, and its setting. */
const longMs = 60_000;
const patient = { DRAIN_SECONDS: String(longMs / 1000) };
const ranOnce = { status: "succeeded", attempt: 1, metered: 1, messages: 2 };

describe.skipIf(sharedRedisUrl === null)("SIGTERM of a worker", () => {
  test.concurrent("with nothing running ends it at once, with exit code 0", async () => {
    await using installation = await startInstallation();
    const worker = await installation.work(patient);
    expect(await terminated(worker)).toBeLessThan(longMs / 2);
    expect(await installation.sql`select 1 from workers`).toHaveLength(0);
  }, 180_000);

  test.concurrent("lets what runs finish, and claims nothing new", async () => {
    await using installation = await startInstallation();
    await using model = holdModel(installation.model);
    const c = await installation.client((await installation.serve()).url, model.url);
    const worker = await installation.work(patient);
    const running = await c.turn(`finishing ${openEndedMark} [[sim: chunks=30]]`);
    await hasShown(running);
    worker.signal("SIGTERM");
    await eventually(() => worker.log.some(({ msg }) => msg === "stopping"));
    const next = await c.turn('next [[sim: text="by another worker"]]');
    await hasBeatenTwice(installation);
    model.release();
    expect((await worker.exited).code).toBe(0);
    const draining = worker.log.find(({ msg }) => msg?.startsWith("draining"));
    expect(draining).toMatchObject({ turns: 1, seconds: expect.any(Number) });
    expect(callsOf(installation.model, "next [[")).toBe(0);
    await running.stream.closed;
    expectWhole(running);
    expect(await aftermathOf(installation.sql, running.turnId)).toEqual(ranOnce);
    await installation.work();
    await next.stream.closed;
    expectWhole(next, "by another worker");
  }, 180_000);

  test.concurrent("after DRAIN_SECONDS hands back what has shown nothing and ends the rest as failed", async () => {
    await using installation = await startInstallation();
    await using model = holdModel(installation.model);
    const c = await installation.client((await installation.serve()).url, model.url);
    const worker = await installation.work({ DRAIN_SECONDS: "2", WORKER_CONCURRENCY: "4" });
    const shown = await c.turn("shown [[sim: chunks=2000 delayMs=20]]");
    const silent = await c.turn(`silent ${heldMark} [[sim: text="run again"]]`);
    const json = c.json("shown-json [[sim: chunks=2000 delayMs=20]]");
    await hasShown(shown);
    await isClaimed(installation, silent.turnId);
    await eventually(() => callsOf(installation.model, "shown-json") === 1);
    const fetched = await c.turn('fetched [[sim: text="handed on"]]');
    const [tookMs] = await Promise.all([terminated(worker), installation.work()]);
    model.release();
    process.stderr.write(`  drain of 2 s: ended after ${tookMs} ms\n`);
    await Promise.all([shown, silent, fetched].map(({ stream }) => stream.closed));
    expectBroken(shown);
    expect(await aftermathOf(installation.sql, shown.turnId)).toMatchObject({
      status: "failed",
      metered: 1,
      messages: 0,
    });
    expectLost(await json);
    expectWhole(silent, "run again");
    expect(await aftermathOf(installation.sql, silent.turnId)).toEqual({ ...ranOnce, attempt: 2 });
    // Turns that would not be stopped are left 5 s after that, and another worker finds them as those of a lost one.
    expect(await installation.sql`select crashes from turns where crashes > 0`).toHaveLength(0);
    expectWhole(fetched, "handed on");
    for (const { sessionId } of [shown, silent, fetched]) await expectFree(c, sessionId);
  }, 180_000);

  test.concurrent("hands back a turn whose transcript it is summarising", async () => {
    await using installation = await startInstallation();
    await using model = holdModel(installation.model);
    const c = await installation.client((await installation.serve()).url, model.url);
    // An unknown model has a window of 128,000 tokens; this reserve leaves 300 for the prompt.
    await installation.sql`
      update agent_versions set config = (config::jsonb || '{"compactionReserveTokens": 127700}')::json where agent_id = ${c.agentId}`;
    const doomed = await installation.work({ DRAIN_SECONDS: "1" });
    const { sessionId, stream } = await c.turn(`first ${"lorem ".repeat(100)}`);
    await stream.closed;
    // Only the summary is asked for with these words.
    await installation.sql`
      update messages set content = replace(content::text, 'first', ${`first ${heldMark}`})::json
      where session_id = ${sessionId} and role = 'user'`;
    const turn = await c.turn(`second ${"lorem ".repeat(100)}`, sessionId);
    await eventually(() => callsOf(installation.model, "Summarise the conversation") === 1);
    await terminated(doomed);
    const [{ status } = { status: null }] = await installation.sql<{ status: string }[]>`
      select status from turns where id = ${turn.turnId}`;
    expect(status).toBe("queued");
    await installation.work();
    await eventually(() => callsOf(installation.model, "Summarise the conversation") === 2);
    model.release();
    await turn.stream.closed;
    expectWhole(turn);
    const after = await aftermathOf(installation.sql, turn.turnId);
    expect([after.status, after.attempt]).toEqual(["succeeded", 2]);
  }, 180_000);

  test.concurrent("gives back a job that is locked in its name, whatever it knows of it", async () => {
    await using installation = await startInstallation();
    const worker = await installation.work();
    const { name } = await eventually(async () => {
      const rows = await installation.sql<{ name: string }[]>`select unnest(queue_worker_ids) as name from workers`;
      return rows.at(0);
    });
    // As an outage of Postgres leaves it: fetched or done, and the response got lost.
    await installation.sql`select graphile_worker.add_job('keys.sweep', '{}', run_at => now() + interval '1 hour', job_key => 'lost')`;
    await installation.sql`
      update graphile_worker._private_jobs set locked_by = ${name}, locked_at = now(), attempts = 1 where key = 'lost'`;
    // One in whose place another was put while it was locked is nobody's, and has no attempts left.
    const replace = () =>
      installation.sql`select graphile_worker.add_job('keys.sweep', '{}', run_at => now() + interval '2 hours', job_key => 'new')`;
    await replace();
    await installation.sql`
      update graphile_worker._private_jobs set locked_by = ${name}, locked_at = now(), attempts = 1 where key = 'new'`;
    await replace();
    await terminated(worker);
    const jobs = await installation.sql`
      select key, locked_by, locked_at, attempts from graphile_worker._private_jobs
      where run_at > now() + interval '30 minutes' order by run_at`;
    const waiting = { lockedBy: null, lockedAt: null, attempts: 0 };
    expect([...jobs]).toEqual(["lost", "new"].map((key) => ({ key, ...waiting })));
  }, 180_000);
});

describe.skipIf(sharedRedisUrl === null)("SIGTERM of an HTTP process", () => {
  test.concurrent("with nothing open ends it at once, with exit code 0", async () => {
    await using installation = await startInstallation();
    const http = await installation.serve(patient);
    expect((await fetch(`${http.url}/healthz`)).status).toBe(200);
    expect(await terminated(http)).toBeLessThan(longMs / 2);
  }, 180_000);

  test.concurrent("lets open streams finish, and takes nothing new", async () => {
    await using installation = await startInstallation();
    await using model = holdModel(installation.model);
    const http = await installation.serve(patient);
    const c = await installation.client(http.url, model.url);
    await installation.work();
    const turn = await c.turn(`finishing ${openEndedMark} [[sim: chunks=30]]`);
    await hasShown(turn);
    http.signal("SIGTERM");
    await eventually(async () => (await fetch(`${http.url}/healthz`).catch(() => null)) === null);
    model.release();
    await turn.stream.closed;
    expectWhole(turn);
    expect((await http.exited).code).toBe(0);
  }, 180_000);

  test.concurrent("drops streams after DRAIN_SECONDS; their turns go on and can be joined elsewhere", async () => {
    await using installation = await startInstallation();
    await using model = holdModel(installation.model);
    const http = await installation.serve({ DRAIN_SECONDS: "1" });
    const other = await installation.serve();
    const c = await installation.client(http.url, model.url);
    await installation.work();
    const turn = await c.turn(`lasting ${openEndedMark} [[sim: chunks=30]]`);
    await hasShown(turn);
    await terminated(http);
    await turn.stream.closed;
    expect(turn.stream.finished).toBe(false);
    const joined = await c.at(other.url).join(turn.sessionId);
    model.release();
    await joined.stream.closed;
    expectWhole(joined);
    expect(await aftermathOf(installation.sql, turn.turnId)).toEqual(ranOnce);
  }, 180_000);
});

/** Waits until the only worker has beaten twice more: by then it has heard what was announced before. */
async function hasBeatenTwice({ sql }: Installation): Promise<void> {
  const beatAt = async () => (await sql<{ beatAt: Date }[]>`select beat_at from workers`).at(0)?.beatAt.getTime();
  for (let seen = 0, last = await beatAt(); seen < 2; seen++) {
    const before = last;
    last = await eventually(async () => {
      const now = await beatAt();
      return now === before ? null : now;
    });
  }
}

/** Sends SIGTERM and waits for the exit code 0. Returns how long it took, in milliseconds. */
async function terminated(process: ServiceProcess): Promise<number> {
  const startedAt = Date.now();
  process.signal("SIGTERM");
  expect(await process.exited).toEqual({ code: 0, signal: null });
  return Date.now() - startedAt;
}
