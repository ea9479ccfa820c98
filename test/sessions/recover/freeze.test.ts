import { describe, expect, test } from "bun:test";
import { eventually } from "../../harness/harness.ts";
import { heldMark, holdModel, openEndedMark } from "../../harness/held-model.ts";
import { startImpatientWorker } from "../../harness/impatient-worker.ts";
import {
  aftermathOf,
  callsOf,
  type Installation,
  processWaitMs,
  sharedRedisUrl,
  startInstallation,
} from "../../harness/processes.ts";
import { logged } from "../../harness/service-process.ts";
import { allClosed, countStep, expectStored, lostCall, onStepsScene, outputErrors } from "../../harness/steps-scene.ts";
import { expectBroken, expectFree, expectWhole, hasShown } from "../../harness/turn-checks.ts";

/** A frozen worker is replaced within this: its beat is 30 s old by then, and the reaper has scanned. */
const limitMs = 45_000;

const ranOnce = { status: "succeeded", attempt: 1, metered: 1, messages: 2 };

describe.skipIf(sharedRedisUrl === null)("SIGSTOP of a worker", () => {
  test.concurrent("it is replaced within 45 s, and nothing it writes after SIGCONT counts", async () => {
    await using installation = await startInstallation();
    await scenario(installation, async () => {
      await installation.work();
    });
  }, 240_000);

  test.concurrent("with a shorter limit: the successor's job is still there when the frozen one wakes up", async () => {
    await using installation = await startInstallation();
    await using pools = new AsyncDisposableStack();
    await scenario(installation, async () => {
      pools.use(await startImpatientWorker(installation, 6_000));
    });
  }, 240_000);
});

describe.skipIf(sharedRedisUrl === null)("SIGSTOP of a worker with a turn past its first step", () => {
  test.concurrent(
    "the turn goes on elsewhere, and what the woken worker writes is refused",
    () =>
      onStepsScene(async ({ installation, c, tool }) => {
        await using pools = new AsyncDisposableStack();
        const doomed = await installation.work();
        tool.hold("two");
        const turn = await c.turn(`frozen [[sim: ${countStep("one")} ; ${countStep("two")} ; text="the end" ]]`);
        await eventually(() => tool.counts.get("two") === 1, processWaitMs);
        doomed.signal("SIGSTOP");
        pools.use(await startImpatientWorker(installation, 6_000));
        await allClosed([turn]);
        expectWhole(turn);
        expect(outputErrors(turn)).toEqual([lostCall]);
        const before = await rowsOf(installation, turn.turnId);
        tool.release("two");
        doomed.signal("SIGCONT");
        await eventually(
          () => doomed.log.some(({ msg }) => msg === "the lock connection was made anew"),
          processWaitMs,
        );
        await expectFree(c, turn.sessionId);
        expect(await rowsOf(installation, turn.turnId)).toEqual(before);
        expect([...tool.counts.values()]).toEqual([1, 1]);
        expect(await aftermathOf(installation.sql, turn.turnId)).toEqual({ ...ranOnce, attempt: 2 });
        await expectStored(c, turn);
      }),
    240_000,
  );
});

describe.skipIf(sharedRedisUrl === null)("a running turn", () => {
  test.concurrent("whose worker loses the lock connection goes on as if nothing had been, beside other workers", async () => {
    await using installation = await startInstallation();
    await using model = holdModel(installation.model);
    const c = await installation.client((await installation.serve()).url, model.url);
    const worker = await installation.work();
    const turn = await c.turn(`cut ${openEndedMark} [[sim: text="one two" delayMs=1]]`);
    const silent = await c.turn(`cut-silent ${heldMark} [[sim: text="kept"]]`);
    await hasShown(turn);
    await installation.work();
    await cutLockConnection(installation, worker.workerId);
    await logged(worker, "the lock connection was made anew");
    expect(await heldLocks(installation, worker.workerId)).toBe(2);
    await cutLockConnection(installation, worker.workerId);
    model.release();
    await Promise.all([turn, silent].map(({ stream }) => stream.closed));
    expectWhole(turn, "one two");
    expectWhole(silent, "kept");
    for (const { turnId } of [turn, silent]) expect(await aftermathOf(installation.sql, turnId)).toEqual(ranOnce);
    expect(callsOf(installation.model, `cut ${openEndedMark}`)).toBe(1);
    expect(callsOf(installation.model, "cut-silent ")).toBe(1);
    for (const { sessionId } of [turn, silent]) await expectFree(c, sessionId);
    await eventually(async () => (await heldLocks(installation, worker.workerId)) === 0);
  }, 240_000);

  test.concurrent("that is quiet for longer than any limit of the reaper calls its model once", async () => {
    await using installation = await startInstallation();
    const c = await installation.client((await installation.serve()).url);
    await installation.work();
    await installation.work();
    const quiet = await c.turn('long-quiet [[sim: firstDelayMs=12000 text="at last"]]');
    const pausing = await c.turn("long-pause [[sim: chunks=3 delayMs=6000]]");
    const json = await c.json('long-json [[sim: firstDelayMs=12000 text="at last"]]');
    await Promise.all([quiet, pausing].map(({ stream }) => stream.closed));
    expectWhole(quiet, "at last");
    expectWhole(pausing);
    expect(json.status).toBe(201);
    for (const { turnId } of [quiet, pausing]) expect(await aftermathOf(installation.sql, turnId)).toEqual(ranOnce);
    for (const mark of ["long-quiet [[", "long-pause [[", "long-json [["])
      expect(callsOf(installation.model, mark)).toBe(1);
  }, 240_000);
});

/** Freezes a worker with a turn that has shown chunks and one that has not, starts another, and wakes the first while the second still runs. */
async function scenario(installation: Installation, startSuccessor: () => Promise<void>): Promise<void> {
  await using model = holdModel(installation.model);
  const c = await installation.client((await installation.serve()).url, model.url);
  // Accepted before there is a worker, so that it takes their jobs; it would claim what it hears of without.
  const silent = await c.turn(`silent ${heldMark} [[sim: text="late answer" chunks=2]]`);
  const shown = await c.turn("shown [[sim: chunks=3000 delayMs=20]]");
  const doomed = await installation.work();
  await hasShown(shown);
  await eventually(() => callsOf(installation.model, `silent ${heldMark}`) === 1, processWaitMs);
  doomed.signal("SIGSTOP");
  const frozenAt = Date.now();
  await startSuccessor();

  await shown.stream.closed;
  const brokenMs = Date.now() - frozenAt;
  await eventually(() => callsOf(installation.model, `silent ${heldMark}`) === 2, processWaitMs);
  const againMs = Date.now() - frozenAt;
  process.stderr.write(`  frozen: failed after ${brokenMs} ms, run again after ${againMs} ms\n`);
  expect(Math.max(brokenMs, againMs)).toBeLessThan(limitMs);
  const before = await rowsOf(installation, shown.turnId);

  doomed.signal("SIGCONT");
  await eventually(() => doomed.log.some(({ msg }) => msg === "the lock connection was made anew"), processWaitMs);
  // It ends its old jobs by number, sooner or later; the successor's, if it has one, has another. That may be the one that
  // was given back, which has lost its key when the turn was queued again just after it was fetched.
  const lockedJobs = () => installation.sql`
    select 1 from graphile_worker._private_jobs where payload ->> 'turnId' = ${silent.turnId} and locked_at is not null`;
  await eventually(async () => (await lockedJobs()).length <= 1, processWaitMs);
  model.release();
  await silent.stream.closed;
  expectBroken(shown);
  expectWhole(silent, "late answer");
  const ranAgain = { status: "succeeded", attempt: 2, metered: 1, messages: 2 };
  expect(await aftermathOf(installation.sql, silent.turnId)).toEqual(ranAgain);
  expect(await aftermathOf(installation.sql, shown.turnId)).toEqual({
    status: "failed",
    attempt: 1,
    metered: 1,
    messages: 0,
  });
  expect(await rowsOf(installation, shown.turnId)).toEqual(before);
  expect(callsOf(installation.model, `silent ${heldMark}`)).toBe(2);
  for (const { sessionId } of [silent, shown]) await expectFree(c, sessionId);
  // The woken worker takes part again.
  await eventually(async () => {
    await c.json("more work");
    const [row] =
      await installation.sql`select 1 from turns where worker_id = ${doomed.workerId} and accepted_at > now() - interval '5 s'`;
    return row !== undefined;
  }, processWaitMs);
}

async function rowsOf({ sql }: Installation, turnId: string): Promise<unknown> {
  const [turn] = await sql`select * from turns where id = ${turnId}`;
  // Without `summed`, which moves by the clock.
  const usage = await sql`
    select provider, model, input_tokens, output_tokens, duration_ms, day, created_at from usage where turn_id = ${turnId}`;
  const messages = await sql`select * from messages where turn_id = ${turnId}`;
  return JSON.stringify([turn, usage, messages]);
}

/** Ends the connection that holds a worker's locks, and no other. */
async function cutLockConnection({ sql }: Installation, workerId: string): Promise<void> {
  const [cut] = await sql<{ n: number }[]>`
    select count(pg_terminate_backend(pid))::int as n from (
      select distinct l.pid from pg_locks l join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and a.application_name = ${`parley-${workerId}`}
    ) holders`;
  expect(cut?.n).toBe(1);
}

async function heldLocks({ sql }: Installation, workerId: string): Promise<number> {
  const [held] = await sql<{ n: number }[]>`
    select count(*)::int as n from pg_locks l join pg_stat_activity a using (pid)
    where l.locktype = 'advisory' and a.application_name = ${`parley-${workerId}`}`;
  return held?.n ?? 0;
}
