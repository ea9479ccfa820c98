import { expect, test } from "bun:test";
import { cronItems } from "../../workers/crontab.ts";
import { useService } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";

const h = await useService({ worker: true });

interface SweepJob {
  readonly id: string;
  readonly key: string | null;
  readonly attempts: number;
  readonly maxAttempts: number;
  readonly lastError: string | null;
  readonly isRunning: boolean;
}

const sweeps = () => h.sql<SweepJob[]>`
  select j.id::text, j.key, j.attempts, j.max_attempts, j.last_error, j.locked_at is not null as is_running
  from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
  where t.identifier = 'pauses.sweep' order by j.id`;

/** Adds the sweep as the clock does. */
async function tick(): Promise<void> {
  const item = cronItems.find(({ task }) => task === "pauses.sweep");
  const { jobKey, maxAttempts } = item?.options ?? {};
  await h.sql`
    select graphile_worker.add_job('pauses.sweep', '{}', job_key => ${jobKey ?? null}, max_attempts => ${maxAttempts ?? null})`;
}

test("every job that comes by the clock is tried again until the next one takes its place", () => {
  for (const { task, options } of cronItems) {
    expect(options.jobKey).toBe(task);
    expect(options.maxAttempts).toBeGreaterThan(5);
  }
});

test("a sweep that fails waits to be tried again, and the next one takes its place", async () => {
  await h.sql`alter table approvals rename to approvals_away`;
  await tick();
  const failed = await eventually(async () => (await sweeps()).find(({ lastError }) => lastError !== null));
  expect(failed.attempts).toBeLessThan(failed.maxAttempts);
  await h.sql`alter table approvals_away rename to approvals`;
  await tick();
  await eventually(async () => (await sweeps()).length === 0);
});

test("one that fails after the next one has come leaves no dead letter", async () => {
  const held = await h.sql.reserve();
  await held`begin`;
  await held`lock table approvals in access exclusive mode`;
  await tick();
  await eventually(async () => (await sweeps()).some(({ isRunning }) => isRunning));
  await tick();
  expect(new Set((await sweeps()).map(({ key }) => key))).toEqual(new Set([null, "pauses.sweep"]));
  // As an outage ends it.
  await eventually(async () => {
    const ended = await h.sql`
      select pg_cancel_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and query ilike '%approvals%'`;
    return ended.length > 0;
  });
  await eventually(async () => !(await sweeps()).some(({ key }) => key === null));
  await held`commit`;
  held.release();
  await eventually(async () => (await sweeps()).length === 0);
});
