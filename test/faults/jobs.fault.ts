import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { discardJob } from "../../src/installation/discard-job.ts";
import { isPayload, type JobName, type JobPayloads, jobNames } from "../../src/kernel/queue/catalogue.ts";
import { countJobs, listDead } from "../../src/kernel/queue/stored-jobs.ts";
import { eventually } from "../harness/eventually.ts";
import { type Client, type Installation, sharedRedisUrl, startInstallation } from "../harness/processes.ts";
import type { WorkProcess } from "../harness/service-process.ts";

/** The fields of all kinds of job. */
type PayloadField = { [N in JobName]: keyof JobPayloads[N] }[JobName];

/** What nobody who knows the jobs would write: each is wrong for every kind of job that needs fields. */
const wrong = [
  {},
  [],
  [{}, {}],
  "text",
  7,
  null,
  true,
  { turnId: 5, lockKey: {}, runId: [], taskId: null, fireAt: 1, threadId: {}, connectionId: 0, agentId: [] },
  { huge: "x".repeat(1_000_000) },
  nested(500),
];
const limitMs = 60_000;

describe.skipIf(sharedRedisUrl === null)("jobs that somebody put into the queue by hand", () => {
  let installation: Installation;
  let worker: WorkProcess;
  let c: Client;
  beforeAll(async () => {
    installation = await startInstallation();
    c = await installation.client((await installation.serve()).url);
    worker = await installation.work();
  }, limitMs);
  afterAll(() => installation?.[Symbol.asyncDispose](), limitMs);

  const add = (task: string, payload: unknown, attempts = 5) =>
    installation.sql`select graphile_worker.add_job(${task}, ${JSON.stringify(payload)}::text::json, max_attempts => ${attempts})`;
  const counts = async () => new Map((await countJobs(installation.sql)).map((row) => [row.task, row]));
  /** The worker is the same one, and works. */
  const expectWork = async () => {
    expect((await c.json('[[sim: text="all the same"]]')).status).toBe(201);
    expect(worker.log.filter(({ msg }) => msg === "working")).toHaveLength(1);
    expect(worker.noise).toEqual([]);
  };

  test(
    "with a payload of a wrong shape end at once as dead letters, with a word in the log, and can be discarded",
    async () => {
      const names = jobNames.filter((name) => !isPayload(name, {}));
      for (const name of names) for (const payload of wrong) await add(name, payload);
      const made = names.length * wrong.length;
      await eventually(
        async () => (await listDead(installation.sql, { task: null, limit: 1_000 })).length === made,
        limitMs,
      );
      const dead = await listDead(installation.sql, { task: null, limit: 1_000 });
      for (const { attempts, lastError } of dead) {
        expect(attempts).toBe(1);
        expect(lastError).toContain("malformed");
      }
      const said = worker.log.filter(({ msg, level }) => level === "error" && /malformed/.test(msg));
      expect(said.length).toBeGreaterThanOrEqual(made);
      await expectWork();
      const ends = new Set<string>();
      for (const { id } of dead) ends.add(await discardJob(installation.sql, id));
      expect([...ends]).toEqual(["alone"]);
      expect(await listDead(installation.sql, { task: null, limit: 1 })).toEqual([]);
    },
    2 * limitMs,
  );

  test(
    "that name nothing there is are done, and leave nothing",
    async () => {
      const id = "000000000000000000000000";
      const named = {
        turnId: `turn_${id}`,
        lockKey: `ss_${id}`,
        runId: `tr_${id}`,
        taskId: `tk_${id}`,
        fireAt: new Date(0).toISOString(),
        threadId: `ct_${id}`,
        connectionId: `cc_${id}`,
        agentId: `ag_${id}`,
        tenantId: `ten_${id}`,
        workspaceId: `ws_${id}`,
        skillId: `skill_${id}`,
        sessionId: `ss_${id}`,
        webhookId: `wh_${id}`,
        watchKey: `turn_${id}:1:call`,
        serverTaskId: "task-1",
        attempt: "1",
        until: new Date(Date.now() + 3_600_000).toISOString(),
        stopId: `turn_${id}`,
        budgetId: `bud_${id}`,
        auditEventId: `aud_${id}`,
      } satisfies Record<PayloadField, string>;
      const odd = Object.fromEntries(Object.keys(named).map((name) => [name, "' or true --\u0001"]));
      for (const name of jobNames) for (const payload of [named, odd]) await add(name, payload, 1);
      await eventually(
        async () => [...(await counts()).values()].every(({ ready, running }) => ready + running === 0),
        limitMs,
      );
      await expectWork();
      expect(await listDead(installation.sql, { task: null, limit: 100 })).toEqual([]);
      expect(await installation.sql`select 1 from turns where status <> 'succeeded'`).toHaveLength(0);
    },
    2 * limitMs,
  );

  test(
    "of a kind that no worker knows wait, are seen, and hold nobody up",
    async () => {
      for (let job = 0; job < 200; job++) await add("from.the.future", { job });
      await expectWork();
      expect((await counts()).get("from.the.future")).toMatchObject({ ready: 200, dead: 0 });
    },
    2 * limitMs,
  );
});

/** An object this deep. */
function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = { value };
  return value;
}
