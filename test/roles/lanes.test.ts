import { afterEach, expect, test } from "bun:test";
import type { Task } from "graphile-worker";
import { type JobName, jobKind } from "../../src/kernel/queue/catalogue.ts";
import { readDepths } from "../../src/kernel/queue/depth.ts";
import { countJobs } from "../../src/kernel/queue/stored-jobs.ts";
import { Lanes, laneNames } from "../../workers/lanes.ts";
import { Queue } from "../../workers/queue.ts";
import { openQueueConnections } from "../../workers/queue-connections.ts";
import { eventually } from "../harness/eventually.ts";
import { useService } from "../harness/fixture.ts";

const h = await useService();
/** A tenant alone uses four fifths of a kind's slots. */
const alone = (name: JobName) => Math.floor((jobKind(name).atOnce * 4) / 5);

/** A queue of a worker process whose jobs last until they are released. */
class HeldQueue implements AsyncDisposable {
  readonly lanes = new Lanes({ sql: h.sql, log: h.ctx.log, onCalled: (count) => this.#queue?.nudge(count) });
  readonly running = new Map<string, () => void>();
  readonly done: string[] = [];
  held = true;
  #queue: Queue | null = null;
  #heard: { unlisten(): Promise<unknown> } | null = null;

  async start(): Promise<this> {
    const task: Task = async (payload) => {
      const { id } = payload as { id: string };
      if (this.held) await new Promise<void>((resolve) => this.running.set(id, resolve));
      this.running.delete(id);
      this.done.push(id);
    };
    this.#queue = await Queue.start({
      connections: openQueueConnections(
        { databaseUrl: h.databaseUrl, databasePoolUrl: null, applicationName: "parley-test" },
        3,
        h.ctx.log,
      ),
      taskList: Object.fromEntries(laneNames.map((name) => [name, this.lanes.inLane(name, task)])),
      concurrency: Lanes.hands,
      fetchAtOnce: 25,
      cronItems: [],
      sql: h.sql,
      log: h.ctx.log,
      onNames: () => {},
    });
    this.#heard = await h.sql.listen("jobs:insert", () => this.#queue?.nudge(1));
    return this;
  }

  runningOf(prefix: string): number {
    return [...this.running.keys()].filter((id) => id.startsWith(prefix)).length;
  }

  release(): void {
    this.held = false;
    for (const go of this.running.values()) go();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.lanes.stop();
    const stopped = this.#queue?.stop();
    this.release();
    await this.#heard?.unlisten();
    await stopped;
  }
}

/** One statement adds at most this many jobs: with a thousand it takes seconds on a busy machine. */
const addedAtOnce = 250;
/** Adding 5,000 jobs, or parking them, takes less on a busy machine. */
const floodMs = 60_000;

/** Adds due jobs of a kind, whose ids begin with the tenant's name. */
async function add(name: JobName, tenantId: string, count: number): Promise<void> {
  for (let first = 1; first <= count; first += addedAtOnce)
    await h.sql`
      select graphile_worker.add_job(${name}, json_build_object('id', ${tenantId} || n, 'tenantId', ${tenantId}::text),
        job_key => ${tenantId} || n, max_attempts => 5)
      from generate_series(${first}::int, ${Math.min(first + addedAtOnce - 1, count)}::int) n`;
}

const jobsLeft = async () => (await h.sql`select 1 from graphile_worker._private_jobs`).length;

afterEach(async () => {
  await h.sql`delete from graphile_worker._private_jobs`;
});

test("a tenant's 5,000 due jobs take four fifths of their kind's slots, and another tenant's job runs at once", async () => {
  await add("task.fire", "ten_a", 5_000);
  await using queue = await new HeldQueue().start();
  await eventually(() => queue.runningOf("ten_a") === alone("task.fire"));
  await add("task.fire", "ten_b", 1);
  await eventually(() => queue.runningOf("ten_b") === 1, floodMs);
  expect(queue.runningOf("ten_a")).toBe(alone("task.fire"));
  expect(queue.done).toEqual([]);
}, 120_000);

test("a kind whose slots are all taken holds up no other kind", async () => {
  const { atOnce } = jobKind("task.fire");
  for (let n = 0; n < 2 * atOnce; n++) await add("task.fire", `ten_${n}_`, 50);
  await using queue = await new HeldQueue().start();
  await eventually(() => queue.running.size === atOnce);
  await add("chat.deliver", "ten_c", 1);
  await eventually(() => queue.runningOf("ten_c") === 1);
  expect(queue.running.size).toBe(atOnce + 1);
});

test("every parked job runs once, those of a tenant that holds none first, and the counts know them as due", async () => {
  const { atOnce } = jobKind("task.run");
  await add("task.run", "ten_a", 300);
  await using queue = await new HeldQueue().start();
  await eventually(() => queue.runningOf("ten_a") === alone("task.run"));
  for (const tenantId of ["ten_b", "ten_c", "ten_d", "ten_e"]) await add("task.run", tenantId, 1);
  await eventually(() => queue.running.size === atOnce);
  const waiting = 304 - atOnce;
  await eventually(async () => {
    const parked = await h.sql`select 1 from graphile_worker._private_jobs where priority = 1`;
    return parked.length === waiting;
  });
  expect((await readDepths(h.sql)).find(({ task }) => task === "task.run")).toMatchObject({ ready: waiting, dead: 0 });
  expect((await countJobs(h.sql)).find(({ task }) => task === "task.run")).toMatchObject({
    ready: waiting,
    scheduled: 0,
    running: atOnce,
  });
  // Two of the flood end: their slots go to those that hold none.
  const flood = [...queue.running.entries()].filter(([id]) => id.startsWith("ten_a"));
  for (const [, end] of flood.slice(0, 2)) end();
  await eventually(() => ["ten_b", "ten_c", "ten_d", "ten_e"].every((id) => queue.runningOf(id) === 1));
  queue.release();
  await eventually(async () => (await jobsLeft()) === 0);
  expect(queue.done.toSorted()).toEqual([...new Set(queue.done)].toSorted());
  expect(queue.done).toHaveLength(304);
});

test("jobs that one worker parked run on another one that has slots for them", async () => {
  await add("task.fire", "ten_a", 100);
  await using busy = await new HeldQueue().start();
  await eventually(() => busy.running.size === alone("task.fire"));
  await eventually(async () => {
    const parked = await h.sql`select 1 from graphile_worker._private_jobs where priority = 1`;
    return parked.length === 100 - alone("task.fire");
  });
  await using idle = await new HeldQueue().start();
  await eventually(() => idle.running.size === alone("task.fire"));
  expect(busy.running.size).toBe(alone("task.fire"));
});

test("a parked job that is added again waits once", async () => {
  await add("task.fire", "ten_a", 20);
  await using queue = await new HeldQueue().start();
  await eventually(() => queue.running.size === alone("task.fire"));
  const parked = () => h.sql<{ key: string }[]>`select key from graphile_worker.jobs where priority = 1 order by key`;
  await eventually(async () => (await parked()).length === 20 - alone("task.fire"));
  const before = [...(await parked())];
  for (const { key } of before)
    await h.sql`
      select graphile_worker.add_job('task.fire', json_build_object('id', ${key}::text, 'tenantId', 'ten_a'), job_key => ${key}, max_attempts => 5)`;
  await eventually(async () => (await parked()).length === before.length);
  expect([...(await parked())]).toEqual(before);
  queue.release();
  await eventually(async () => (await jobsLeft()) === 0);
  expect(queue.done).toHaveLength(20);
});
