import { describe, expect, test } from "bun:test";
import { tx } from "../../src/kernel/database/transaction.ts";
import { beginRun } from "../../src/tasks/begin-run.ts";
import { fireTask } from "../../src/tasks/fire.ts";
import { setNextFire } from "../../src/tasks/next-fire.ts";
import { endForgottenRuns, recoverTasks } from "../../src/tasks/recover.ts";
import { nextFire, readSchedule, type Schedule } from "../../src/tasks/schedule.ts";
import { createTask } from "../../src/tasks/store.ts";
import { useAgent } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent } from "../harness/seed.ts";
import type { Workers } from "../harness/service.ts";

const { h, t, agentId } = await useAgent();

const dayMs = 24 * 60 * 60 * 1000;
const cron = (expression: string, timezone: string): Schedule => ({ kind: "cron", config: { expression, timezone } });

/** A task made at a moment of the fake clock. */
async function taskAt(now: string, schedule: Schedule, of = { tenantId: t.id, agentId }): Promise<string> {
  const fields = { agentId: of.agentId, name: "scheduled", prompt: "tick", schedule };
  return (await createTask(h.sql, of.tenantId, fields, new Date(now))).id;
}

async function armedFor(taskId: string): Promise<Date | null> {
  const [row] = await h.sql<{ at: Date | null }[]>`select next_fire_at as at from tasks where id = ${taskId}`;
  return row?.at ?? null;
}

/** The job that waits to fire a task. */
async function fireJob(taskId: string): Promise<{ runAt: Date; fireAt: string } | null> {
  const [row] = await h.sql<{ runAt: Date; fireAt: string }[]>`
    select run_at, payload ->> 'fireAt' as fire_at from graphile_worker._private_jobs
    where key = ${`task.fire:${taskId}`} and attempts < max_attempts`;
  return row ?? null;
}

async function runsOf(taskId: string) {
  return h.sql<{ id: string; status: string; createdAt: Date }[]>`
    select id, status, created_at from task_runs where task_id = ${taskId} order by created_at`;
}

/** Ends whatever runs, as if its turn had succeeded. */
async function finishRuns(taskId: string): Promise<void> {
  await h.sql`update task_runs set status = 'succeeded', finished_at = now() where task_id = ${taskId} and status in ('queued', 'running')`;
}

/** Plays a task's fires up to a moment of the fake clock, each run ending before the next; returns when it fired. */
async function play(taskId: string, until: string): Promise<string[]> {
  const fires: string[] = [];
  for (let at = await armedFor(taskId); at !== null && at < new Date(until); at = await armedFor(taskId)) {
    const now = at;
    expect(await fireJob(taskId)).toEqual({ runAt: now, fireAt: now.toISOString() });
    const before = (await runsOf(taskId)).length;
    await fireTask(h.ctx, { taskId, fireAt: now.toISOString() }, () => now);
    expect((await runsOf(taskId)).length - before).toBe(1);
    await finishRuns(taskId);
    fires.push(now.toISOString());
  }
  return fires;
}

/** So many days on, at the same wall-clock time in New York: `hours` behind UTC. */
const daily = (from: string, days: number) =>
  Array.from({ length: days }, (_, day) => new Date(Date.parse(from) + day * dayMs).toISOString());

describe("a month of a schedule on a fake clock", () => {
  test("spring: a daily cron in the skipped hour fires once a day, on that day right after the gap", async () => {
    const id = await taskAt("2027-03-01T00:00:00Z", cron("30 2 * * *", "America/New_York"));
    const fires = await play(id, "2027-04-01T00:00:00Z");
    expect(fires).toEqual([
      ...daily("2027-03-01T07:30:00Z", 13),
      "2027-03-14T07:00:00.000Z", // 02:30 does not exist; 03:00 EDT is the first moment after it.
      ...daily("2027-03-15T06:30:00Z", 17),
    ]);
  });

  test("autumn: a daily cron in the repeated hour fires once a day, on that day the first time", async () => {
    const id = await taskAt("2027-11-01T00:00:00Z", cron("30 1 * * *", "America/New_York"));
    const fires = await play(id, "2027-12-01T00:00:00Z");
    expect(fires).toEqual([...daily("2027-11-01T05:30:00Z", 7), ...daily("2027-11-08T06:30:00Z", 23)]);
  });

  test("an hourly cron follows the clock that never jumps, over both changes", async () => {
    for (const [from, until] of [
      ["2027-03-28T00:00:00Z", "2027-03-28T04:00:00Z"],
      ["2027-10-31T00:00:00Z", "2027-10-31T04:00:00Z"],
    ] as const) {
      const id = await taskAt(from, cron("15 * * * *", "Europe/Berlin"));
      const hours = Array.from({ length: 4 }, (_, hour) => new Date(Date.parse(from) + hour * 3_600_000 + 900_000));
      expect(await play(id, until)).toEqual(hours.map((hour) => hour.toISOString()));
    }
  });

  test("an interval fires every period, the first time one period after it was set", async () => {
    const id = await taskAt("2027-03-01T12:00:00Z", { kind: "interval", config: { everyMs: dayMs } });
    expect(await play(id, "2027-04-01T00:00:00Z")).toEqual(daily("2027-03-02T12:00:00Z", 30));
  });

  test("a once fires once and leaves nothing armed", async () => {
    const id = await taskAt("2027-03-01T00:00:00Z", { kind: "once", config: { at: "2027-03-14T02:30:00-05:00" } });
    expect(await play(id, "2028-01-01T00:00:00Z")).toEqual(["2027-03-14T07:30:00.000Z"]);
    expect([await armedFor(id), await fireJob(id)]).toEqual([null, null]);
  });
});

describe("cron and daylight saving", () => {
  const fires = (expression: string, zone: string, from: string, until: string) => {
    const schedule = readSchedule(cron(expression, zone)) as Schedule;
    const found: string[] = [];
    let at = nextFire(schedule, new Date(from), new Date(from));
    for (; at !== null && at < new Date(until); at = nextFire(schedule, at, at))
      found.push(at.toISOString().slice(11, 16));
    return found;
  };

  test("named times, also by lists, ranges and steps: what is skipped happens after the gap, what is repeated once", () => {
    const spring = ["2027-03-28T00:00:00Z", "2027-03-28T03:00:00Z"] as const;
    const autumn = ["2027-10-31T00:00:00Z", "2027-10-31T03:00:00Z"] as const;
    expect(fires("*/30 2 * * *", "Europe/Berlin", "2027-03-27T22:59:59Z", spring[1])).toEqual(["01:00"]);
    expect(fires("0 2-3 * * *", "Europe/Berlin", ...spring)).toEqual(["01:00"]);
    expect(fires("0,30 2 * * *", "Europe/Berlin", "2027-10-30T23:59:59Z", autumn[1])).toEqual(["00:00", "00:30"]);
    expect(fires("*/30 */2 * * *", "Europe/Berlin", "2027-10-30T23:59:59Z", autumn[1])).toEqual(["00:00", "00:30"]);
    expect(fires("45 1 * * *", "Australia/Lord_Howe", "2027-04-02T15:00:00Z", "2027-04-03T16:00:00Z")).toEqual([
      "14:45",
    ]);
  });

  test("all hours, however written: nothing is skipped or repeated", () => {
    for (const hours of ["*", "*/1", "0-23", "0-11,12-23"]) {
      const autumn = fires(`0 ${hours} * * *`, "Europe/Berlin", "2027-10-30T23:59:59Z", "2027-10-31T04:00:00Z");
      expect(autumn).toEqual(["00:00", "01:00", "02:00", "03:00"]);
    }
  });
});

describe("what does not fire", () => {
  const everyMinute: Schedule = { kind: "interval", config: { everyMs: 60_000 } };
  const start = "2027-06-01T00:00:00Z";
  const minute = (n: number) => new Date(Date.parse(start) + n * 60_000);

  test("a fire while a run is active is skipped, and the next one is armed", async () => {
    const id = await taskAt(start, everyMinute);
    await fireTask(h.ctx, { taskId: id, fireAt: minute(1).toISOString() }, () => minute(1));
    await fireTask(h.ctx, { taskId: id, fireAt: minute(2).toISOString() }, () => minute(2));
    expect([(await runsOf(id)).length, await armedFor(id)]).toEqual([1, minute(3)]);
    await finishRuns(id);
    await fireTask(h.ctx, { taskId: id, fireAt: minute(3).toISOString() }, () => minute(3));
    const runs = await runsOf(id);
    // Their ids begin with the time that they stand for, and so sort by age.
    const times = [minute(1), minute(3)].map((at) => at.getTime().toString(36).padStart(9, "0"));
    expect(runs.map((run) => run.id.slice("tr_".length, "tr_".length + 9))).toEqual(times);
  });

  test("fires missed in a downtime collapse into one, and an interval stays on its grid", async () => {
    const id = await taskAt(start, everyMinute);
    const back = new Date(minute(90).getTime() + 12_345);
    await fireTask(h.ctx, { taskId: id, fireAt: minute(1).toISOString() }, () => back);
    expect([(await runsOf(id)).length, await armedFor(id)]).toEqual([1, minute(91)]);
    const nightly = await taskAt(start, cron("0 3 * * *", "UTC"));
    await fireTask(h.ctx, { taskId: nightly, fireAt: "2027-06-01T03:00:00Z" }, () => new Date("2027-06-05T12:00:00Z"));
    expect([(await runsOf(nightly)).length, await armedFor(nightly)]).toEqual([1, new Date("2027-06-06T03:00:00Z")]);
  });

  test("a fire of a disabled agent or an inactive subscription is skipped; a tenant that is being deleted is disarmed", async () => {
    const other = await h.tenant();
    const otherAgent = await makeAgent(h, other);
    const of = { tenantId: other.id, agentId: otherAgent };
    const id = await taskAt(start, everyMinute, of);
    await other.call("POST", `/v1/agents/${otherAgent}/disable`);
    await fireTask(h.ctx, { taskId: id, fireAt: minute(1).toISOString() }, () => minute(1));
    await other.call("POST", `/v1/agents/${otherAgent}/enable`);
    await h.sql`update tenants set subscription = 'inactive' where id = ${other.id}`;
    await fireTask(h.ctx, { taskId: id, fireAt: minute(2).toISOString() }, () => minute(2));
    expect([(await runsOf(id)).length, await armedFor(id)]).toEqual([0, minute(3)]);
    await h.sql`update tenants set subscription = 'active', deleting_at = now() where id = ${other.id}`;
    await fireTask(h.ctx, { taskId: id, fireAt: minute(3).toISOString() }, () => minute(3));
    expect([(await runsOf(id)).length, await armedFor(id), await fireJob(id)]).toEqual([0, null, null]);
  });

  test("a fire that was called off, has happened, or makes no sense does nothing", async () => {
    const id = await taskAt(start, everyMinute);
    await fireTask(h.ctx, { taskId: id, fireAt: minute(1).toISOString() }, () => minute(1));
    await finishRuns(id);
    for (const fireAt of [minute(1).toISOString(), minute(5).toISOString(), "never"])
      await fireTask(h.ctx, { taskId: id, fireAt }, () => minute(1));
    expect((await runsOf(id)).length).toBe(1);
    await t.call("PATCH", `/v1/tasks/${id}`, { body: { enabled: false } });
    await fireTask(h.ctx, { taskId: id, fireAt: minute(2).toISOString() }, () => minute(2));
    expect([(await runsOf(id)).length, await fireJob(id)]).toEqual([1, null]);
  });

  test("ten workers that race one fire start one run, also when their clocks are behind", async () => {
    const id = await taskAt(start, everyMinute);
    const fire = { taskId: id, fireAt: minute(1).toISOString() };
    await Promise.all(Array.from({ length: 10 }, (_, n) => fireTask(h.ctx, fire, () => minute(1 - n / 10))));
    expect([(await runsOf(id)).length, await armedFor(id)]).toEqual([1, minute(2)]);
  });
});

describe("with workers", () => {
  /** Makes a task's next fire due now, as when time has passed. */
  async function due(taskId: string, msAgo = 0): Promise<Date> {
    const at = new Date(Date.now() - msAgo);
    await tx(h.sql, (inner) => setNextFire(inner, taskId, at));
    return at;
  }

  async function withWorkers(count: number, work: () => Promise<void>): Promise<void> {
    const pools: Workers[] = [];
    try {
      while (pools.length < count) pools.push(await h.startWorkers());
      await work();
    } finally {
      await Promise.all(pools.map((pool) => pool.drain(5_000)));
    }
  }

  const ended = (taskId: string) =>
    eventually(async () => {
      const runs = await runsOf(taskId);
      return runs.length > 0 && runs.every(({ status }) => status === "succeeded") ? runs : null;
    });

  test("three workers fire each of twenty tasks once, and the runs succeed", async () => {
    const ids = await Promise.all(
      Array.from({ length: 20 }, () =>
        taskAt(new Date().toISOString(), { kind: "interval", config: { everyMs: dayMs } }),
      ),
    );
    await withWorkers(3, async () => {
      for (const id of ids) await due(id);
      for (const id of ids) expect((await ended(id)).length).toBe(1);
      for (const id of ids) expect((await armedFor(id))?.getTime()).toBeGreaterThan(Date.now() + dayMs - 60_000);
    });
  });

  test("what was missed while no worker was there fires once when one returns, a once too", async () => {
    const nightly = await taskAt("2026-01-01T00:00:00Z", cron("0 3 * * *", "Europe/Berlin"));
    const once = await taskAt("2026-01-01T00:00:00Z", { kind: "once", config: { at: "2026-01-02T00:00:00Z" } });
    await withWorkers(2, async () => {
      for (const id of [nightly, once]) expect((await ended(id)).length).toBe(1);
    });
    expect((await armedFor(nightly))?.getTime()).toBeGreaterThan(Date.now());
    expect(await armedFor(once)).toBeNull();
  });

  test("a run whose turn has ended is ended, although the job that tells it so is a dead letter; one whose turn runs is not", async () => {
    const path = `/v1/tasks/${(await t.parley.tasks.create({ agentId, name: "n", prompt: "x" })).task.id}`;
    const { runId } = await t.parley.taskRuns.start(path.split("/").at(-1) as string);
    await beginRun(h.ctx, runId);
    const [row] = await h.sql<{ turnId: string }[]>`
      update task_runs set started_at = now() - interval '2 minutes' where id = ${runId} returning turn_id`;
    const turnId = row?.turnId ?? "";
    const status = async () => (await runsOf(path.split("/").at(-1) as string)).map((run) => run.status);
    await endForgottenRuns(h.ctx);
    expect(await status()).toEqual(["running"]);
    await withWorkers(1, async () => void (await eventually(async () => (await status())[0] === "succeeded")));
    // As it was before that job, which has failed for good.
    await h.sql`update turns set finished_at = now() - interval '2 minutes' where id = ${turnId}`;
    await h.sql`update task_runs set status = 'running', finished_at = null where id = ${runId}`;
    await endForgottenRuns(h.ctx);
    expect(await status()).toEqual(["succeeded"]);
    expect((await t.call("GET", path)).body.activeRunId).toBeNull();
  });

  test("a fire and a queued run whose jobs are gone are enqueued again; a run whose job gave up is failed", async () => {
    const lostFire = await taskAt(new Date().toISOString(), { kind: "interval", config: { everyMs: dayMs } });
    await due(lostFire, 10_000);
    const starting = async () => {
      const { body } = await t.call("POST", "/v1/tasks", {
        body: { agentId, name: "n", prompt: "x", submit: true },
      });
      await h.sql`update task_runs set created_at = now() - interval '10 seconds' where id = ${body.runId}`;
      return body as { task: { id: string }; runId: string };
    };
    const lostRun = await starting();
    const givenUp = await starting();
    await h.sql`delete from graphile_worker._private_jobs where key in (${`task.fire:${lostFire}`}, ${`task.run:${lostRun.runId}`})`;
    await h.sql`update graphile_worker._private_jobs set attempts = max_attempts where key = ${`task.run:${givenUp.runId}`}`;
    await recoverTasks(h.ctx);
    await recoverTasks(h.ctx);
    expect((await runsOf(givenUp.task.id)).map(({ status }) => status)).toEqual(["failed"]);
    await withWorkers(1, async () => {
      for (const id of [lostFire, lostRun.task.id]) expect((await ended(id)).length).toBe(1);
    });
  });
});
