import { describe, expect, test } from "bun:test";
import { createManagedAgent } from "../../src/agents/managed.ts";
import { purgeAgent } from "../../src/agents/purge.ts";
import { newId } from "../../src/kernel/ids.ts";
import { agentPurges } from "../../workers/tasks.ts";
import { useAgent } from "../harness/fixture.ts";
import type { ApiResponse, TestTenant } from "../harness/harness.ts";
import { makeAgent } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";

const { h, t, agentId } = await useAgent();

const create = (fields: object = {}, tenant = t, agent: string = agentId, form: "a" | "b" = "b") =>
  tenant.call("POST", "/v1/tasks", { body: { agentId: agent, name: "n", prompt: "p", ...fields }, form });
async function made(fields: object = {}, tenant = t, agent: string = agentId) {
  const response = await create(fields, tenant, agent);
  expect([response.status, response.body.error]).toEqual([fields && "submit" in fields ? 202 : 201, undefined]);
  return response.body.task;
}
const issuesOf = ({ body }: ApiResponse) => body.error.details.issues.map(({ path }: { path: string }) => path);
const armedFor = async (id: string): Promise<Date | null> =>
  (await h.sql<{ at: Date | null }[]>`select next_fire_at as at from tasks where id = ${id}`)[0]?.at ?? null;
const fireJobs = async (id: string): Promise<number> =>
  (await h.sql`select 1 from graphile_worker._private_jobs where key = ${`task.fire:${id}`}`).length;
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

describe("POST /v1/tasks", () => {
  test("201: the task with its defaults, no run", async () => {
    const { status, body } = await create();
    expect([status, body.runId]).toEqual([201, null]);
    expect(body.task).toEqual({
      id: expect.stringMatching(/^tk_[0-9a-z]{24}$/),
      tenantId: t.id,
      agentId,
      agentVersion: null,
      name: "n",
      prompt: "p",
      schedule: null,
      enabled: true,
      activeRunId: null,
      latestRunId: null,
      userId: "",
      metadata: {},
      deletedAt: null,
      responseFormat: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect((await t.call("GET", `/v1/tasks/${body.task.id}`)).body).toEqual(body.task);
  });

  test("201: every field as it was sent, schedules armed with one job", async () => {
    const schedules = [
      { kind: "once", config: { at: inAnHour() } },
      { kind: "interval", config: { everyMs: 60_000 } },
      { kind: "cron", config: { expression: "30 2 * * MON-FRI", timezone: "Europe/Berlin" } },
    ];
    for (const schedule of schedules) {
      const fields = {
        agentVersion: 1,
        name: "😀".repeat(80),
        prompt: "x".repeat(6_000),
        userId: "u",
        metadata: { b: 1, a: [2] },
        schedule,
      };
      const task = await made(fields);
      expect(task).toMatchObject(fields);
      expect(JSON.stringify(task.metadata)).toBe('{"b":1,"a":[2]}');
      expect([await fireJobs(task.id), (await armedFor(task.id))?.getTime()]).toEqual([1, expect.any(Number)]);
    }
    const disabled = await made({ schedule: schedules[1], enabled: false });
    expect([disabled.enabled, await armedFor(disabled.id), await fireJobs(disabled.id)]).toEqual([false, null, 0]);
  });

  test("202: with submit a run is queued", async () => {
    const { status, body } = await create({ submit: true });
    expect([status, body.task.activeRunId, body.task.latestRunId]).toEqual([202, body.runId, body.runId]);
    expect(body.runId).toMatch(/^tr_[0-9a-z]{24}$/);
  });

  test("201, the same response: an Idempotency-Key makes one task", async () => {
    const once = () =>
      t.call("POST", "/v1/tasks", {
        body: { agentId, name: "k", prompt: "p", submit: true },
        headers: { "Idempotency-Key": "tasks-1" },
      });
    const [first, second] = [await once(), await once()];
    expect([first.status, second.status, second.body]).toEqual([202, 202, first.body]);
  });

  test("400 validation_failed (A: invalid_request): broken fields are named", async () => {
    const broken = {
      agentId: "x",
      agentVersion: 0,
      name: "",
      prompt: "",
      enabled: 1,
      submit: "no",
      metadata: 1,
      extra: 1,
    };
    const response = await t.call("POST", "/v1/tasks", { body: broken });
    expect(statusAndCode(response)).toEqual([400, "validation_failed"]);
    expect(issuesOf(response).sort()).toEqual([
      "/agentId",
      "/agentVersion",
      "/enabled",
      "/extra",
      "/metadata",
      "/name",
      "/prompt",
      "/submit",
    ]);
    expect(statusAndCode(await t.call("POST", "/v1/tasks", { body: broken, form: "a" }))).toEqual([
      400,
      "invalid_request",
    ]);
    for (const fields of [{ name: "x".repeat(81) }, { prompt: "x".repeat(6_001) }, { agentVersion: 2_147_483_648 }])
      expect(statusAndCode(await create(fields))).toEqual([400, "validation_failed"]);
  });

  test("400 validation_failed: schedules that are not valid", async () => {
    const cron = (expression: string, timezone = "UTC") => ({ kind: "cron", config: { expression, timezone } });
    const rows: [object, string][] = [
      [{ kind: "once", config: {} }, "/schedule/config/at"],
      [{ kind: "once", config: { at: "2020-01-01T00:00:00Z" } }, "/schedule/config/at"],
      [{ kind: "once", config: { at: "2099-02-31T00:00:00Z" } }, "/schedule/config/at"],
      [{ kind: "once", config: { at: "9999-12-31T23:59:59-01:00" } }, "/schedule/config/at"],
      [{ kind: "once", config: { at: "2099-01-01T00:00:00" } }, "/schedule/config/at"],
      [{ kind: "interval", config: { everyMs: 59_999 } }, "/schedule/config/everyMs"],
      [{ kind: "interval", config: { everyMs: 60_000.5 } }, "/schedule/config/everyMs"],
      [{ kind: "interval", config: { everyMs: 1e15 } }, "/schedule/config/everyMs"],
      [{ kind: "interval", config: { everyMs: 60_000, x: 1 } }, "/schedule/config/x"],
      [{ kind: "interval" }, "/schedule/config"],
      [{ kind: "daily", config: {} }, "/schedule/kind"],
      [{ kind: "interval", config: { everyMs: 60_000 }, x: 1 }, "/schedule/x"],
      [cron("0 3 * * *", "+02:00"), "/schedule/config/timezone"],
      [cron("0 3 * * *", "UTC+2"), "/schedule/config/timezone"],
      [cron("0 3 * * *", "Mars/Olympus"), "/schedule/config/timezone"],
      [cron("0 3 * * *", ""), "/schedule/config/timezone"],
      [{ kind: "cron", config: { expression: "0 3 * * *" } }, "/schedule/config/timezone"],
      ...[
        "",
        "* * * *",
        "* * * * * *",
        "@daily",
        "60 * * * *",
        "0 24 * * *",
        "0 0 30 2 *",
        "? * * * *",
        "a b c d e",
        "*/0 * * * *",
        "0 0 L * *",
        "0 0 15W * *",
        "0 0 * * 5#2",
        "0 0 * * FRI#2",
        "0 0 * * 5L",
        "0 0 * * +1",
        "0 0 * MON *",
        "0 0 MON * *",
        "0 0 * * MONDAY",
      ].map((expression): [object, string] => [cron(expression), "/schedule/config/expression"]),
    ];
    for (const [schedule, path] of rows) {
      const response = await create({ schedule });
      expect([...statusAndCode(response), issuesOf(response)]).toEqual([400, "validation_failed", [path]]);
    }
  });

  test("404 not_found, agent_version_not_found (A: AGENT_VERSION_NOT_FOUND): an agent or version that is missing or another tenant's", async () => {
    const other = await h.tenant();
    const foreign = await makeAgent(h, other);
    const responses = [await create({}, t, newId("agent")), await create({}, t, foreign)].map(({ status, body }) => {
      const { requestId, ...error } = body.error;
      return { status, error };
    });
    expect(responses[0]).toEqual(responses[1] as never);
    expect(responses[0]).toMatchObject({ status: 404, error: { code: "not_found" } });
    expect(statusAndCode(await create({ agentVersion: 2 }))).toEqual([404, "agent_version_not_found"]);
    expect(statusAndCode(await create({ agentVersion: 2 }, t, agentId, "a"))).toEqual([404, "AGENT_VERSION_NOT_FOUND"]);
  });

  test("409 agent_disabled (A: AGENT_DISABLED), admin_agent_managed (A: ADMIN_AGENT_MANAGED), tenant_deleting: no task", async () => {
    const disabled = await makeAgent(h, t);
    await t.call("POST", `/v1/agents/${disabled}/disable`);
    expect(statusAndCode(await create({}, t, disabled))).toEqual([409, "agent_disabled"]);
    expect(statusAndCode(await create({}, t, disabled, "a"))).toEqual([409, "AGENT_DISABLED"]);
    const managed = await createManagedAgent(h.sql, t.id);
    expect(statusAndCode(await create({}, t, managed))).toEqual([409, "admin_agent_managed"]);
    expect(statusAndCode(await create({}, t, managed, "a"))).toEqual([409, "ADMIN_AGENT_MANAGED"]);
    const leaving = await h.tenant();
    const agent = await makeAgent(h, leaving);
    await h.sql`update tenants set deleting_at = now() where id = ${leaving.id}`;
    expect(statusAndCode(await create({ submit: true }, leaving, agent))).toEqual([409, "tenant_deleting"]);
    expect((await leaving.call("GET", "/v1/tasks")).body.data).toEqual([]);
  });

  test("402 subscription_required: no task", async () => {
    const lapsed = await h.tenant();
    await h.sql`update tenants set subscription = 'inactive' where id = ${lapsed.id}`;
    expect(statusAndCode(await create({}, lapsed))).toEqual([402, "subscription_required"]);
  });
});

describe("GET /v1/tasks", () => {
  test("200: most recently updated first, in pages, filtered, with each one's latest run", async () => {
    const tenant = await h.tenant();
    const [one, two] = [await makeAgent(h, tenant), await makeAgent(h, tenant)];
    const tasks = [];
    for (let n = 0; n < 5; n++)
      tasks.push(await made({ name: `t${n}`, userId: n % 2 ? "u" : "" }, tenant, n < 4 ? one : two));
    await tenant.call("PATCH", `/v1/tasks/${tasks[0].id}`, { body: { name: "t0 again" } });
    const names = (response: ApiResponse) => response.body.data.map(({ name }: { name: string }) => name);
    const first = await tenant.call("GET", "/v1/tasks?limit=2");
    expect([first.status, names(first)]).toEqual([200, ["t0 again", "t4"]]);
    const second = await tenant.call("GET", `/v1/tasks?limit=2&cursor=${first.body.nextCursor}`);
    const third = await tenant.call("GET", `/v1/tasks?limit=2&cursor=${second.body.nextCursor}`);
    expect([names(second), names(third), third.body.nextCursor]).toEqual([["t3", "t2"], ["t1"], null]);
    expect(names(await tenant.call("GET", `/v1/tasks?agentId=${two}`))).toEqual(["t4"]);
    expect(names(await tenant.call("GET", `/v1/tasks?userId=u&agentId=${one}`))).toEqual(["t3", "t1"]);
    expect(names(await tenant.call("GET", "/v1/tasks?userId="))).toEqual(["t0 again", "t4", "t2"]);
    expect(names(await t.call("GET", `/v1/tasks?agentId=${one}`))).toEqual([]);
    expect(statusAndCode(await tenant.call("GET", `/v1/tasks?userId=u&cursor=${first.body.nextCursor}`))).toEqual([
      400,
      "invalid_cursor",
    ]);

    expect(third.body.data[0]).toMatchObject({ id: tasks[1].id, latestRun: null });
    const { runId } = (await tenant.call("POST", `/v1/tasks/${tasks[1].id}/runs`, { body: {} })).body;
    const [listed] = (await tenant.call("GET", "/v1/tasks?userId=u")).body.data.slice(-1);
    expect(listed).toMatchObject({
      activeRunId: runId,
      latestRunId: runId,
      latestRun: { id: runId, status: "queued", finishedAt: null },
    });
    expect((await tenant.call("GET", `/v1/tasks/${tasks[1].id}`)).body).not.toHaveProperty("latestRun");
  });

  test("400 validation_failed, invalid_cursor (A: invalid_request): broken query fields", async () => {
    for (const query of ["limit=0", "limit=201", "limit=x", "agentId=x", "status=x", "limit=1&limit=2"])
      expect(statusAndCode(await t.call("GET", `/v1/tasks?${query}`))).toEqual([400, "validation_failed"]);
    expect(statusAndCode(await t.call("GET", "/v1/tasks?cursor=x"))).toEqual([400, "invalid_cursor"]);
    expect(statusAndCode(await t.call("GET", "/v1/tasks?cursor=x", { form: "a" }))).toEqual([400, "invalid_request"]);
  });
});

describe("PATCH /v1/tasks/:taskId", () => {
  const patch = (id: string, body: object, form: "a" | "b" = "b") => t.call("PATCH", `/v1/tasks/${id}`, { body, form });

  test("200: each field by itself, metadata replaced, null clears", async () => {
    const task = await made({ metadata: { a: 1 }, agentVersion: 1 });
    const changes = [
      { name: "m" },
      { prompt: "q" },
      { metadata: { b: 2 } },
      { agentVersion: null },
      { enabled: false },
    ];
    for (const change of changes) expect((await patch(task.id, change)).body).toMatchObject(change);
    const { body } = await t.call("GET", `/v1/tasks/${task.id}`);
    expect(body).toEqual({ ...task, ...Object.assign({}, ...changes), updatedAt: body.updatedAt });
    expect(body.updatedAt > task.updatedAt).toBe(true);
  });

  test("200: a schedule is armed, left alone, moved and disarmed", async () => {
    const task = await made();
    const hourly = { kind: "interval", config: { everyMs: 3_600_000 } };
    await patch(task.id, { schedule: hourly });
    const armed = (await armedFor(task.id)) as Date;
    expect(armed.getTime() - Date.now()).toBeGreaterThan(3_590_000);
    await patch(task.id, { name: "other", schedule: hourly, enabled: true });
    expect([await armedFor(task.id), await fireJobs(task.id)]).toEqual([armed, 1]);
    await patch(task.id, { schedule: { kind: "interval", config: { everyMs: 60_000 } } });
    expect(((await armedFor(task.id)) as Date).getTime()).toBeLessThan(armed.getTime());
    await patch(task.id, { enabled: false });
    expect([await armedFor(task.id), await fireJobs(task.id)]).toEqual([null, 0]);
    await patch(task.id, { enabled: true });
    expect([(await armedFor(task.id)) === null, await fireJobs(task.id)]).toEqual([false, 1]);
    expect((await patch(task.id, { schedule: null })).body.schedule).toBeNull();
    expect([await armedFor(task.id), await fireJobs(task.id)]).toEqual([null, 0]);
  });

  test("400 validation_failed: nothing, fields that cannot change, schedules that are not valid", async () => {
    const task = await made();
    for (const body of [
      {},
      { agentId },
      { userId: "u" },
      { submit: true },
      { name: null },
      { schedule: { kind: "interval", config: { everyMs: 1 } } },
    ])
      expect(statusAndCode(await patch(task.id, body))).toEqual([400, "validation_failed"]);
    expect(statusAndCode(await patch(task.id, {}, "a"))).toEqual([400, "invalid_request"]);
    expect((await t.call("GET", `/v1/tasks/${task.id}`)).body).toEqual(task);
  });

  test("404 agent_version_not_found (A: AGENT_VERSION_NOT_FOUND): pinning", async () => {
    const task = await made();
    expect(statusAndCode(await patch(task.id, { agentVersion: 9 }))).toEqual([404, "agent_version_not_found"]);
    expect(statusAndCode(await patch(task.id, { agentVersion: 9 }, "a"))).toEqual([404, "AGENT_VERSION_NOT_FOUND"]);
  });
});

describe("DELETE /v1/tasks/:taskId", () => {
  test("204: the schedule stops, the id is 404 everywhere, runs stay; 409 task_active_run_exists before", async () => {
    const task = await made({ schedule: { kind: "interval", config: { everyMs: 60_000 } }, submit: true });
    const path = `/v1/tasks/${task.id}`;
    expect(statusAndCode(await t.call("DELETE", path))).toEqual([409, "task_active_run_exists"]);
    await t.call("POST", `${path}/runs/${task.activeRunId}/cancel`);
    const gone = await t.call("DELETE", path);
    expect([gone.status, gone.body, await fireJobs(task.id)]).toEqual([204, null, 0]);
    await expectMissing(t, task.id, task.activeRunId);
    expect((await t.call("GET", "/v1/tasks?limit=200")).body.data.map(({ id }: { id: string }) => id)).not.toContain(
      task.id,
    );
    expect(await h.sql`select status from task_runs where task_id = ${task.id}`).toHaveLength(1);
  });
});

/** Every operation on a task is 404, the same for whatever reason. */
async function expectMissing(tenant: TestTenant, taskId: string, runId: string): Promise<void> {
  const path = `/v1/tasks/${taskId}`;
  const rows: [string, string, object?][] = [
    ["GET", path],
    ["PATCH", path, { name: "x" }],
    ["DELETE", path],
    ["GET", `${path}/runs`],
    ["POST", `${path}/runs`, {}],
    ["GET", `${path}/runs/${runId}`],
    ["GET", `${path}/runs/${runId}/messages`],
    ["POST", `${path}/runs/${runId}/cancel`],
  ];
  for (const [method, at, body] of rows) {
    for (const form of ["a", "b"] as const) {
      const response = await tenant.call(method, at, { form, ...(body === undefined ? {} : { body }) });
      const { requestId, ...error } = response.body.error;
      expect([method, at, response.status, error]).toEqual([
        method,
        at,
        404,
        {
          code: "not_found",
          message: at.includes(runId) ? "There is no such run of this task." : "There is no such task.",
        },
      ]);
    }
  }
}

describe("404 not_found on every operation", () => {
  test("of a task that never was, and of another tenant's", async () => {
    const task = await made({ submit: true });
    await expectMissing(t, newId("task"), newId("taskRun"));
    await expectMissing(await h.tenant(), task.id, task.activeRunId);
  });

  test("of a deleted agent's task at once; the purge takes task, fire and runs", async () => {
    const agent = await makeAgent(h, t);
    const task = await made({ schedule: { kind: "interval", config: { everyMs: 60_000 } }, submit: true }, t, agent);
    expect((await t.call("DELETE", `/v1/agents/${agent}`)).status).toBe(204);
    await expectMissing(t, task.id, task.activeRunId);
    await purgeAgent(h.ctx, { agentId: agent, tenantId: t.id }, agentPurges);
    const [left] = await h.sql`
      select (select count(*)::int from tasks where id = ${task.id}) as tasks,
        (select count(*)::int from task_runs where task_id = ${task.id}) as runs`;
    expect([left, await fireJobs(task.id)]).toEqual([{ tasks: 0, runs: 0 }, 0]);
  });

  test("400 validation_failed: ids of the wrong shape", async () => {
    const task = await made();
    for (const path of ["/v1/tasks/tk_x", `/v1/tasks/${task.id}/runs/tr_x`, `/v1/tasks/${task.id}/runs/tr_x/messages`])
      expect(statusAndCode(await t.call("GET", path))).toEqual([400, "validation_failed"]);
  });
});

describe("DELETE /v1/providers/:id", () => {
  test("409 provider_historical_use: names the tasks that are pinned to a version with the provider", async () => {
    const agent = await makeAgent(h, t);
    const { providerId } = (await t.call("GET", `/v1/agents/${agent}`)).body;
    const pinned = await made({ agentVersion: 1 }, t, agent);
    await made({}, t, agent);
    const { status } = await t.call("PUT", `/v1/agents/${agent}`, { body: { providerId: null, model: null } });
    expect(status).toBe(200);
    const response = await t.call("DELETE", `/v1/providers/${providerId}`);
    expect(statusAndCode(response)).toEqual([409, "provider_historical_use"]);
    expect(response.body.error.details).toEqual({ agentIds: [agent], sessionIds: [], taskIds: [pinned.id] });
  });
});
