import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { newId } from "../../src/kernel/ids.ts";
import { startQueuedRun } from "../../src/tasks/run.ts";
import { eventually, type Harness, startHarness, type TestTenant } from "../harness/harness.ts";
import { makeAgent, say } from "../harness/seed.ts";
import { requestsOf, usageOf } from "../harness/talk.ts";
import { lastOf, TaskDesk } from "../harness/task-desk.ts";

let h: Harness;
let t: TestTenant;
let agentId: string;
let desk: TaskDesk;
beforeAll(async () => {
  h = await startHarness();
  t = await h.tenant();
  agentId = await makeAgent(h, t);
  desk = new TaskDesk(h, t, agentId);
});
afterAll(() => h.stop());

describe("POST /v1/tasks/:taskId/runs/:runId/cancel", () => {
  const cancel = (runPath: string, form: "a" | "b" = "b") => t.call("POST", `${runPath}/cancel`, { form });

  test("204: a queued run is canceled at once and never begins", async () => {
    const path = await desk.made("hello");
    const runPath = await desk.started(path);
    const answer = await cancel(runPath);
    expect([answer.status, answer.body]).toEqual([204, null]);
    const run = await desk.read(runPath);
    expect({ ...run }).toMatchObject({
      status: "canceled",
      error: null,
      sessionId: null,
      startedAt: null,
      cancelRequestedAt: expect.any(String),
      canceledAt: expect.any(String),
      finishedAt: expect.any(String),
    });
    expect((await t.call("DELETE", path)).status).toBe(204);
  });

  test("204: a running one is stopped, the model's connection closed within a second, the turn metered", async () => {
    const prompt = '[[sim: text="endless" hangAfterChunks=1]]';
    const runPath = await desk.started(await desk.made(prompt));
    const run = await desk.working(async () => {
      const request = () => requestsOf(h, say(prompt)).at(-1);
      await eventually(request);
      expect((await cancel(runPath)).status).toBe(204);
      await eventually(() => request()?.aborted, 1_000);
      return desk.ended(runPath);
    });
    expect({ ...run }).toMatchObject({
      status: "canceled",
      error: null,
      cancelRequestedAt: expect.any(String),
      canceledAt: expect.any(String),
    });
    expect(await usageOf(h, run.turnId)).not.toBeNull();
  });

  test("204: a run whose turn waits for a worker is canceled at once; so is one whose session's turn is cancelled", async () => {
    const [first, second] = [
      await desk.started(await desk.made("hello")),
      await desk.started(await desk.made("hello")),
    ];
    for (const path of [first, second]) await startQueuedRun(h.ctx, lastOf(path));
    expect((await cancel(first)).status).toBe(204);
    expect(await desk.read(first)).toMatchObject({
      status: "canceled",
      cancelRequestedAt: expect.any(String),
      canceledAt: expect.any(String),
    });
    const { sessionId } = await desk.read(second);
    expect((await t.call("POST", `/v1/agents/${agentId}/sessions/${sessionId}/cancel`)).status).toBe(202);
    expect(await desk.read(second)).toMatchObject({ status: "canceled", error: null, canceledAt: expect.any(String) });
  });

  test("204: a run that has ended stays as it is; one that never was is not revealed", async () => {
    const path = await desk.made("hello");
    const run = await desk.ran(path);
    for (const form of ["a", "b"] as const) {
      expect((await cancel(`${path}/runs/${run.id}`, form)).status).toBe(204);
      expect((await cancel(`${path}/runs/${newId("taskRun")}`, form)).status).toBe(204);
    }
    expect(await desk.read(`${path}/runs/${run.id}`)).toEqual(run);
    const other = await desk.started(await desk.made("hello"));
    expect((await cancel(`${path}/runs/${lastOf(other)}`)).status).toBe(204);
    expect((await desk.read(other)).status).toBe("queued");
  });
});
