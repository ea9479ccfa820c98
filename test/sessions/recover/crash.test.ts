import { describe, expect, test } from "bun:test";
import postgres from "postgres";
import { eventually } from "../../harness/harness.ts";
import { afterTools, heldMark, holdModel } from "../../harness/held-model.ts";
import {
  aftermathOf,
  callsOf,
  type Installation,
  sharedRedisUrl,
  startInstallation,
  type Turn,
} from "../../harness/processes.ts";
import type { WorkProcess } from "../../harness/service-process.ts";
import {
  expectBroken,
  expectFree,
  expectLost,
  expectWhole,
  hasShown,
  isClaimed,
  turnsIn,
} from "../../harness/turn-checks.ts";

/**
 * A dead worker's turns have ended or run again within 10 s (docs/workers.md, "Dead and frozen workers"), which
 * a busy machine may double. One whose death was only noticed as a frozen worker is takes 30 s.
 */
const limitMs = 20_000;
/** Longer than anything takes on a busy machine. */
const waitMs = 45_000;
const testMs = 240_000;

/** A script that shows nothing until the test releases the model, then answers. */
const silent = (mark: string) => `${mark} ${heldMark} [[sim: text="late answer" chunks=2]]`;
/** A script that shows chunks for a long time. */
const talking = (mark: string) => `${mark} [[sim: chunks=2000 delayMs=20]]`;
/** A script that never answers. */
const hanging = (mark: string) => `${mark} [[sim: hangAfterChunks=0]]`;

const ranAgain = { status: "succeeded", attempt: 2, metered: 1, messages: 2 };
const ranOnce = { status: "succeeded", attempt: 1, metered: 1, messages: 2 };
const givenUp = { status: "failed", attempt: 1, metered: 1, messages: 0 };

describe.skipIf(sharedRedisUrl === null)("kill -9 of a worker", () => {
  test.concurrent(
    "beside another: what showed nothing runs again, what showed chunks fails, soon",
    async () => {
      await using installation = await startInstallation();
      await using model = holdModel(installation.model);
      const c = await installation.client((await installation.serve()).url, model.url);
      const doomed = await installation.work({ WORKER_CONCURRENCY: "5" });
      const silentTurn = await c.turn(silent("silent-stream"));
      const shownTurn = await c.turn(talking("shown-stream"));
      const responses = Promise.all([c.json(silent("silent-json")), c.json(talking("shown-json"))]);
      await eventually(async () => (await countClaimed(installation, doomed)) === 4, waitMs);
      const parked = [await c.turn("parked-1"), await c.turn("parked-2")];
      await eventually(async () => (await countParked(installation)) === 2, waitMs);
      await hasShown(shownTurn);
      await installation.work();

      const killedAt = Date.now();
      await doomed.kill();
      await Promise.all([shownTurn, ...parked].map(({ stream }) => stream.closed));
      await eventually(
        () => timesRun(installation, "silent-stream") === 2 && timesRun(installation, "silent-json") === 2,
        waitMs,
      );
      const tookMs = Date.now() - killedAt;
      report("beside another", tookMs);
      expect(tookMs).toBeLessThan(limitMs);
      model.release();

      const [silentJson, shownJson] = await responses;
      await silentTurn.stream.closed;
      expectWhole(silentTurn, "late answer");
      expect(await aftermathOf(installation.sql, silentTurn.turnId)).toEqual(ranAgain);
      for (const turn of parked) {
        expectWhole(turn);
        expect(await aftermathOf(installation.sql, turn.turnId)).toEqual(ranOnce);
      }
      expect(callsOf(installation.model, "parked-1")).toBe(1);
      expectBroken(shownTurn);
      expect(await aftermathOf(installation.sql, shownTurn.turnId)).toEqual(givenUp);
      expect(silentJson.status).toBe(201);
      expectLost(shownJson);
      for (const { sessionId } of [silentTurn, shownTurn, ...parked]) await expectFree(c, sessionId);
    },
    testMs,
  );

  test.concurrent(
    "parked turns, and one that was picked without a job, run on another",
    async () => {
      await using installation = await startInstallation();
      await using model = holdModel(installation.model);
      const c = await installation.client((await installation.serve()).url, model.url);
      const doomed = await installation.work({ WORKER_CONCURRENCY: "2" });
      const first = await c.turn(silent("first"));
      await isClaimed(installation, first.turnId);
      const [picked, parked] = [await c.turn(silent("picked")), await c.turn("parked")];
      await eventually(async () => (await countParked(installation)) === 2, waitMs);
      const path = `/v1/agents/${c.agentId}/sessions/${first.sessionId}`;
      expect((await c.request("POST", `${path}/cancel`)).status).toBe(202);
      await eventually(() => timesRun(installation, "picked") === 1, waitMs);
      await doomed.kill();
      await installation.work();
      await eventually(() => timesRun(installation, "picked") === 2, waitMs);
      model.release();
      await Promise.all([picked, parked].map(({ stream }) => stream.closed));
      expectWhole(picked, "late answer");
      expectWhole(parked);
      expect(await aftermathOf(installation.sql, picked.turnId)).toEqual(ranAgain);
      expect(await aftermathOf(installation.sql, parked.turnId)).toEqual(ranOnce);
    },
    testMs,
  );

  test.concurrent(
    "the only one: the same once it is started again; a cancelled turn is not run again",
    async () => {
      await using installation = await startInstallation();
      await using model = holdModel(installation.model);
      const c = await installation.client((await installation.serve()).url, model.url);
      const early = await c.turn('early [[sim: text="waited for a worker"]]');
      const doomed = await installation.work();
      await early.stream.closed;
      expectWhole(early, "waited for a worker");
      const silentTurn = await c.turn(silent("silent"));
      const shownTurn = await c.turn(talking("shown"));
      const canceledTurn = await c.turn(hanging("canceled"));
      await hasShown(shownTurn);
      await isClaimed(installation, silentTurn.turnId);
      await isClaimed(installation, canceledTurn.turnId);
      await eventually(() => callsOf(installation.model, "canceled") === 1, waitMs);

      await doomed.kill();
      const path = `/v1/agents/${c.agentId}/sessions/${canceledTurn.sessionId}`;
      expect((await c.request("POST", `${path}/cancel`)).status).toBe(202);
      await installation.work();
      const startedAt = Date.now();
      await Promise.all([shownTurn, canceledTurn].map(({ stream }) => stream.closed));
      await eventually(() => timesRun(installation, "silent") === 2, waitMs);
      const tookMs = Date.now() - startedAt;
      report("the only one, after the restart", tookMs);
      expect(tookMs).toBeLessThan(limitMs);
      model.release();

      await silentTurn.stream.closed;
      expectWhole(silentTurn, "late answer");
      expect(await aftermathOf(installation.sql, silentTurn.turnId)).toEqual(ranAgain);
      expectBroken(shownTurn);
      expect(await aftermathOf(installation.sql, shownTurn.turnId)).toEqual(givenUp);
      expect(canceledTurn.stream.types.at(-1)).toBe("abort");
      expect(await aftermathOf(installation.sql, canceledTurn.turnId)).toEqual({ ...givenUp, status: "canceled" });
      expect(callsOf(installation.model, "canceled")).toBe(1);
      for (const { sessionId } of [silentTurn, shownTurn, canceledTurn]) await expectFree(c, sessionId);
    },
    testMs,
  );

  test.concurrent(
    "in the commit: the turn is committed once and its stream ends, the worker's other turns are run again",
    async () => {
      await using installation = await startInstallation();
      await using model = holdModel(installation.model);
      await using committed = holdModel(model, (request) => request.includes("in-commit"));
      const c = await installation.client((await installation.serve()).url, committed.url);
      const doomed = await installation.work();
      const first = await c.json("first");
      const sessionId = first.headers.get("location")?.split("/").at(-1) ?? "";
      const turn = await c.turn('in-commit [[sim: text="all said"]]', sessionId);
      const other = await c.turn(silent("other"));
      await eventually(() => callsOf(installation.model, "in-commit") === 1, waitMs);
      const released = Promise.withResolvers<void>();
      // A client of its own: the service's would be cut off for being idle in a transaction for 10 s.
      const holder = postgres(installation.databaseUrl, { max: 1 });
      const held = holder.begin(async (lock) => {
        await lock`select 1 from sessions where id = ${sessionId} for update`;
        committed.release();
        await released.promise;
      });
      await eventually(() => countCommitting(installation), waitMs);
      await installation.work();
      const killedAt = Date.now();
      await doomed.kill();
      await eventually(() => timesRun(installation, "other") === 2, waitMs);
      model.release();
      released.resolve();
      await held;
      await holder.end();
      await turn.stream.closed;
      await other.stream.closed;
      expectWhole(other, "late answer");
      report("in the commit", Date.now() - killedAt);
      expectOneEnding(turn);
      const after = await aftermathOf(installation.sql, turn.turnId);
      expect(after).toMatchObject({ metered: 1, messages: after.status === "succeeded" ? 2 : 0 });
      await expectFree(c, sessionId);
    },
    testMs,
  );

  test.concurrent(
    "again and again: what has killed two workers gets no third, and what shared only one of them with it does",
    async () => {
      await using installation = await startInstallation();
      await using model = holdModel(installation.model);
      const c = await installation.client((await installation.serve()).url, model.url);
      const first = await installation.work();
      const turn = await c.turn(hanging("poison"));
      await eventually(() => callsOf(installation.model, "poison") === 1, waitMs);
      await first.kill();
      const second = await installation.work();
      await eventually(() => callsOf(installation.model, "poison") === 2, waitMs);
      const beside = await c.turn(silent("beside"));
      await eventually(() => timesRun(installation, "beside") === 1, waitMs);
      await second.kill();
      await installation.work();
      const killedAt = Date.now();
      await turn.stream.closed;
      report("again and again", Date.now() - killedAt);
      expect(Date.now() - killedAt).toBeLessThan(limitMs);
      expectBroken(turn);
      expect(await aftermathOf(installation.sql, turn.turnId)).toEqual({ ...givenUp, attempt: 2 });
      await expectFree(c, turn.sessionId);
      await eventually(() => timesRun(installation, "beside") === 2, waitMs);
      model.release();
      await beside.stream.closed;
      expectWhole(beside, "late answer");
      expect(await aftermathOf(installation.sql, beside.turnId)).toEqual(ranAgain);
      expect(callsOf(installation.model, "poison")).toBe(2);
    },
    testMs,
  );
});

describe.skipIf(sharedRedisUrl === null)("kill -9 of an HTTP process", () => {
  test.concurrent(
    "turns go on, and another HTTP process serves a join with the whole sequence",
    async () => {
      await using installation = await startInstallation();
      const doomed = await installation.serve();
      const other = await installation.serve();
      await using model = holdModel(installation.model, afterTools);
      const c = await installation.client(doomed.url, model.url);
      await installation.work();
      const turn = await c.turn('lasting [[sim: chunks=60 delayMs=1 tool=nothing ; text="the end"]]');
      await hasShown(turn);
      await doomed.kill();
      await turn.stream.closed;
      expect(turn.stream.finished).toBe(false);
      const joined = await c.at(other.url).join(turn.sessionId);
      model.release();
      await joined.stream.closed;
      expectWhole(joined);
      expect(joined.stream.ids.slice(0, turn.stream.ids.length)).toEqual(turn.stream.ids);
      expect(await aftermathOf(installation.sql, turn.turnId)).toEqual(ranOnce);
      expect(await turnsIn(installation, "running")).toBe(0);
    },
    testMs,
  );
});

/** Turns that a worker has claimed. */
async function countClaimed({ sql }: Installation, { workerId }: WorkProcess): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from turns where status = 'running' and worker_id = ${workerId}`;
  return row?.n ?? 0;
}

/** Turns whose job some worker has fetched, and not claimed. */
async function countParked({ sql }: Installation): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from turns where status = 'queued' and parked_at is not null`;
  return row?.n ?? 0;
}

/** Commits that wait for a lock. */
async function countCommitting({ sql }: Installation): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from pg_stat_activity
    where application_name = 'parley-worker' and wait_event_type = 'Lock' and datname = current_database()`;
  return row?.n ?? 0;
}

/** How often the model was asked for a turn. */
function timesRun({ model }: Installation, mark: string): number {
  return callsOf(model, `"${mark} ${heldMark}`);
}

function expectOneEnding({ stream }: Turn): void {
  expect(stream.finished).toBe(true);
  expect(stream.types.filter((type) => type === "finish" || type === "error")).toHaveLength(1);
}

function report(what: string, tookMs: number): void {
  process.stderr.write(`  ${what}: ended ${tookMs} ms after the kill\n`);
}
