import { afterAll, describe, expect, test } from "bun:test";
import { createOperatorApp } from "../../src/kernel/http/operator-app.ts";
import { newId } from "../../src/kernel/ids.ts";
import { UsageError } from "../../src/operator/command.ts";
import { readQueueCommand } from "../../src/operator/queue.ts";
import { eventually } from "../harness/eventually.ts";
import { useService } from "../harness/fixture.ts";
import { holdModel } from "../harness/held-model.ts";
import { Neighbour } from "../harness/neighbour.ts";
import { inProcess } from "../harness/runtimes.ts";

describe.skipIf(!inProcess)("a paused queue", async () => {
  const h = await useService({ worker: true, env: { WORKER_CONCURRENCY: "6" } });
  const model = holdModel(h.model);
  afterAll(() => model[Symbol.asyncDispose]());
  const a = await Neighbour.moveIn(h, model);
  const b = await Neighbour.moveIn(h, model);
  const run = (...words: string[]) => readQueueCommand(words)(h.sql, h.ctx.config);
  const runJson = async (...words: string[]) => JSON.parse(await run(...words, "--json"));
  const backlog = async () =>
    (await createOperatorApp(h.ctx)(new Request("http://parley.test/backlog"))).json() as Promise<
      Record<string, unknown>
    >;
  /** A worker reads what is paused with its beat: the second one from now has begun after it. */
  const beats = async () => {
    const at = async () => (await h.sql<{ at: Date }[]>`select max(beat_at) as at from workers`)[0]?.at.getTime() ?? 0;
    for (let count = 0; count < 2; count++) {
      const before = await at();
      await eventually(async () => (await at()) > before);
    }
  };

  test("of one tenant: what runs goes on, what comes waits, others are not touched", async () => {
    await a.hold(1);
    await a.settled(1, 0);
    expect(await run("pause", "--tenant", a.t.id)).toBe(
      `Workers begin no turns of ${a.t.id} from now on; what runs goes on.\n`,
    );
    expect(await run("pause", "--tenant", a.t.id)).toContain("as before");
    await beats();
    await a.hold(2);
    await a.settled(1, 2);
    await b.hold(1);
    await b.settled(1, 0);
    expect(await runJson("status")).toMatchObject({
      parked: 2,
      running: 2,
      workersWanted: 1,
      pauses: [{ tenantId: a.t.id, pausedAt: expect.any(String) }],
    });
    expect(await run("status")).toMatch(
      /^QUEUED +PARKED +OLDEST +RUNNING +SLOTS\n0 +2 +\d+ s +2 +6\n\nPaused:\nTENANT +SINCE\nten_/,
    );
    expect(await backlog()).toMatchObject({ parked: 2, paused: true });
    expect(await run("resume", "--tenant", a.t.id)).toBe(`Workers begin turns of ${a.t.id} again.\n`);
    await a.settled(3, 0);
    expect(await backlog()).not.toHaveProperty("paused");
  });

  test("of all: nobody's turns begin until it ends", async () => {
    await run("pause");
    await beats();
    await b.hold(1);
    await b.settled(1, 1);
    expect((await runJson("status")).pauses).toMatchObject([{ tenantId: null }]);
    expect(await run("resume", "--tenant", b.t.id)).toBe(`No pause of ${b.t.id} was in force.\n`);
    expect(await run("resume")).toBe("Workers begin turns of any tenant again.\n");
    await b.settled(2, 0);
  });

  test("shows what runs, the longest first, and where", async () => {
    const running = await runJson("running");
    expect(running).toHaveLength(5);
    expect(running[0]).toMatchObject({ tenantId: a.t.id, runs: "model", stepsDone: 0, attempt: 1 });
    expect(running[0].runsSeconds).toBeGreaterThanOrEqual(running[4].runsSeconds);
    expect(await runJson("running", "--tenant", b.t.id, "--limit", "1")).toHaveLength(1);
    expect(await run("running", "--tenant", b.t.id)).toMatch(
      /^TURN +AGE +RUNS +IN +STEPS +TENANT +AGENT +WORKER\nturn_\w+ +\d+ s +\d+ s +model +0 +ten_/,
    );
  });

  test("leaves an audit event for each change, and none where nothing changed", async () => {
    const events = await h.sql`
      select action, tenant_id from audit_events where action like 'queue.%' order by at, id`;
    expect(events.map(({ action, tenantId }) => [action, tenantId])).toEqual([
      ["queue.pause", a.t.id],
      ["queue.resume", a.t.id],
      ["queue.pause", null],
      ["queue.resume", null],
    ]);
  });

  test("words that mean nothing are refused", async () => {
    for (const words of [
      ["pause", "--tenant", "x"],
      ["resume", "--tenant", "x"],
      ["running", "--limit", "0"],
      ["status", "--tenant", a.t.id],
    ])
      expect(() => readQueueCommand(words)).toThrow(UsageError);
    await expect(run("pause", "--tenant", newId("tenant"))).rejects.toThrow(UsageError);
    expect((await runJson("status")).pauses).toEqual([]);
  });
});
