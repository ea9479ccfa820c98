import { describe, expect, test } from "bun:test";
import { newId } from "../../src/kernel/ids.ts";
import { beginRun } from "../../src/tasks/begin-run.ts";
import { runAfterJobs } from "../harness/after-turn.ts";
import { useAgent } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { userMessage } from "../harness/seed.ts";
import { lastOf, TaskFixture } from "../harness/task-fixture.ts";
import { requestsOf, usageOf } from "../harness/turns.ts";

const { h, t, agentId } = await useAgent();
const fixture = new TaskFixture(h, t, agentId);

describe("POST /v1/tasks/:taskId/runs/:runId/cancel", () => {
  const cancel = (runPath: string, form: "a" | "b" = "b") => t.call("POST", `${runPath}/cancel`, { form });

  test("204: a queued run is canceled at once and never begins", async () => {
    const path = await fixture.made("hello");
    const runPath = await fixture.started(path);
    const response = await cancel(runPath);
    expect([response.status, response.body]).toEqual([204, null]);
    const run = await fixture.read(runPath);
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
    const runPath = await fixture.started(await fixture.made(prompt));
    const run = await fixture.working(async () => {
      const request = () => requestsOf(h, userMessage(prompt)).at(-1);
      await eventually(request);
      expect((await cancel(runPath)).status).toBe(204);
      await eventually(() => request()?.aborted);
      return fixture.ended(runPath);
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
      await fixture.started(await fixture.made("hello")),
      await fixture.started(await fixture.made("hello")),
    ];
    for (const path of [first, second]) await beginRun(h.ctx, lastOf(path));
    expect((await cancel(first)).status).toBe(204);
    expect(await fixture.read(first)).toMatchObject({
      status: "canceled",
      cancelRequestedAt: expect.any(String),
      canceledAt: expect.any(String),
    });
    const { sessionId } = await fixture.read(second);
    expect((await t.call("POST", `/v1/agents/${agentId}/sessions/${sessionId}/cancel`)).status).toBe(202);
    await runAfterJobs(h);
    expect(await fixture.read(second)).toMatchObject({
      status: "canceled",
      error: null,
      canceledAt: expect.any(String),
    });
  });

  test("204: a run that has ended stays as it is; one that never was is not revealed", async () => {
    const path = await fixture.made("hello");
    const run = await fixture.ran(path);
    for (const form of ["a", "b"] as const) {
      expect((await cancel(`${path}/runs/${run.id}`, form)).status).toBe(204);
      expect((await cancel(`${path}/runs/${newId("taskRun")}`, form)).status).toBe(204);
    }
    expect(await fixture.read(`${path}/runs/${run.id}`)).toEqual(run);
    const other = await fixture.started(await fixture.made("hello"));
    expect((await cancel(`${path}/runs/${lastOf(other)}`)).status).toBe(204);
    expect((await fixture.read(other)).status).toBe("queued");
  });
});
