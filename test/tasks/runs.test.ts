import { describe, expect, test } from "bun:test";
import { beginRun } from "../../src/tasks/begin-run.ts";
import { useAgent } from "../harness/fixture.ts";
import type { ApiResponse } from "../harness/harness.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { lastOf, TaskFixture } from "../harness/task-fixture.ts";
import { requestsOf, usageOf } from "../harness/turns.ts";

const { h, t, agentId } = await useAgent();
const fixture = new TaskFixture(h, t, agentId);

describe("POST /v1/tasks/:taskId/runs", () => {
  test("202: queued at once, then running with session and turn, then succeeded; metered; the task is free again", async () => {
    const path = await fixture.made('[[sim: text="done it"]]', { userId: "u1", metadata: { k: 1 } });
    const runPath = await fixture.started(path);
    const queued = await fixture.read(runPath);
    expect(queued).toEqual({
      id: lastOf(runPath),
      taskId: lastOf(path),
      tenantId: t.id,
      agentId,
      agentVersion: 1,
      sessionId: null,
      turnId: null,
      status: "queued",
      error: null,
      userId: "u1",
      metadata: { k: 1 },
      startedAt: null,
      finishedAt: null,
      cancelRequestedAt: null,
      canceledAt: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect((await t.call("GET", path)).body.activeRunId).toBe(queued.id);
    const run = await fixture.working(() => fixture.ended(runPath));
    expect({ ...run }).toMatchObject({
      ...queued,
      status: "succeeded",
      sessionId: expect.stringMatching(/^ss_/),
      turnId: expect.stringMatching(/^turn_/),
      startedAt: expect.any(String),
      finishedAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect((await t.call("GET", path)).body).toMatchObject({ activeRunId: null, latestRunId: queued.id });
    const [listed] = (await t.call("GET", `/v1/tasks?agentId=${agentId}&limit=1`)).body.data;
    expect(listed.latestRun).toEqual({ id: queued.id, status: "succeeded", finishedAt: run.finishedAt });
    expect(await usageOf(h, run.turnId)).toMatchObject({ sessionId: run.sessionId, userId: "u1" });
    const [session] = (await t.call("GET", `/v1/agents/${agentId}/sessions?userId=u1`)).body.data;
    expect(session).toMatchObject({ id: run.sessionId, agentVersion: null, messageCount: 2, metadata: { k: 1 } });
  });

  test("202: the same key returns the same run, whatever became of it; another key is another run", async () => {
    const path = await fixture.made("hello");
    const first = await fixture.start(path, { idempotencyKey: "k1" });
    expect(first.status).toBe(202);
    expect((await fixture.start(path, { idempotencyKey: "k1" })).body).toEqual(first.body);
    await t.call("POST", `${path}/runs/${first.body.runId}/cancel`);
    const second = await fixture.start(path, { idempotencyKey: "k2" });
    expect(second.body.runId).not.toBe(first.body.runId);
    expect((await fixture.start(path, { idempotencyKey: "k1" })).body).toEqual(first.body);
    const other = await fixture.made("hello");
    expect((await fixture.start(other, { idempotencyKey: "k1" })).body.runId).not.toBe(first.body.runId);
  });

  test("202 once among twenty that race: the others are 409 task_active_run_exists; with one key all are 202", async () => {
    const path = await fixture.made("hello");
    const raced = await Promise.all(Array.from({ length: 20 }, () => fixture.start(path)));
    expect(raced.filter(({ status }) => status === 202)).toHaveLength(1);
    expect(raced.filter(({ body }) => body.error?.code === "task_active_run_exists")).toHaveLength(19);
    const keyed = await fixture.made("hello");
    const same = await Promise.all(Array.from({ length: 20 }, () => fixture.start(keyed, { idempotencyKey: "one" })));
    expect(new Set(same.map(({ status, body }) => `${status} ${body.runId}`)).size).toBe(1);
  });

  test("409 agent_disabled (A: AGENT_DISABLED), task_active_run_exists, tenant_deleting: no run; 400 for a broken key", async () => {
    const agent = await makeAgent(h, t);
    const path = await fixture.made("hello", {}, t, agent);
    for (const body of [
      { idempotencyKey: "" },
      { idempotencyKey: 1 },
      { idempotencyKey: "x".repeat(256) },
      { key: "x" },
    ])
      expect(statusAndCode(await fixture.start(path, body))).toEqual([400, "validation_failed"]);
    await t.call("POST", `/v1/agents/${agent}/disable`);
    expect(statusAndCode(await fixture.start(path))).toEqual([409, "agent_disabled"]);
    expect(statusAndCode(await fixture.start(path, {}, t, "a"))).toEqual([409, "AGENT_DISABLED"]);
    const leaving = await h.tenant();
    const lastPath = await fixture.made("hello", {}, leaving, await makeAgent(h, leaving));
    await h.sql`update tenants set deleting_at = now() where id = ${leaving.id}`;
    expect(statusAndCode(await fixture.start(lastPath, {}, leaving))).toEqual([409, "tenant_deleting"]);
  });

  test("the run keeps version, prompt and metadata of its start; a pinned task pins its session", async () => {
    const agent = await makeAgent(h, t);
    const path = await fixture.made('[[sim: text="old"]]', { metadata: { v: 1 } }, t, agent);
    const runPath = await fixture.started(path);
    await t.call("PUT", `/v1/agents/${agent}`, { body: { instructions: "new" } });
    await t.call("PATCH", path, { body: { prompt: '[[sim: text="new"]]', metadata: { v: 2 } } });
    const run = await fixture.working(() => fixture.ended(runPath));
    expect(run).toMatchObject({ status: "succeeded", agentVersion: 1, metadata: { v: 1 } });
    const [turn] = await h.sql`select agent_version, kind from turns where id = ${run.turnId}`;
    expect(turn).toEqual({ agentVersion: 1, kind: "task" });
    expect((await fixture.read(`${runPath}/messages`)).data[1].parts.at(-1).text).toBe("old");
    await t.call("PATCH", path, { body: { agentVersion: 1 } });
    expect((await fixture.ran(path)).agentVersion).toBe(1);
    const sessions = (await t.call("GET", `/v1/agents/${agent}/sessions`)).body.data;
    expect(sessions.map((session: { agentVersion: number }) => session.agentVersion)).toEqual([1, null]);
  });
});

describe("a run that cannot begin", () => {
  test("usage_credit_required, quota_exceeded: 202, then a run that says why; the quota counts runs", async () => {
    const poor = await h.tenant();
    const path = await fixture.made("hello", {}, poor, await makeAgent(h, poor));
    await h.sql`update tenants set usage_credit = 0 where id = ${poor.id}`;
    const spent = await fixture.ran(path, poor);
    expect(spent).toMatchObject({
      status: "blocked",
      sessionId: null,
      turnId: null,
      startedAt: null,
      finishedAt: expect.any(String),
    });
    expect(spent.error).toEqual({ code: "usage_credit_required", message: expect.any(String) });
    await h.sql`update tenants set usage_credit = null, quota_turns_per_day = 1 where id = ${poor.id}`;
    expect((await fixture.ran(path, poor)).status).toBe("succeeded");
    const over = await fixture.ran(path, poor);
    expect([over.status, over.error.code]).toEqual(["blocked", "quota_exceeded"]);
  });

  test("agent_disabled (A: AGENT_DISABLED), provider_not_found, provider_required: what was lost before the run fails it", async () => {
    const agent = await makeAgent(h, t);
    const path = await fixture.made("hello", {}, t, agent);
    const runPath = await fixture.started(path);
    await t.call("POST", `/v1/agents/${agent}/disable`);
    const run = await fixture.working(() => fixture.ended(runPath));
    expect({ ...run }).toMatchObject({
      status: "failed",
      error: { code: "agent_disabled" },
      sessionId: null,
      turnId: null,
      startedAt: null,
    });
    expect((await fixture.read(runPath, t, "a")).error.code).toBe("AGENT_DISABLED");

    const bare = (await t.call("POST", "/v1/agents", { body: { name: "bare" } })).body.id;
    const bareRun = await fixture.ran(await fixture.made("hello", {}, t, bare));
    expect(bareRun).toMatchObject({ status: "failed", error: { code: "provider_required" }, sessionId: null });

    const orphan = await makeAgent(h, t);
    const { providerId } = (await t.call("GET", `/v1/agents/${orphan}`)).body;
    const pinned = await fixture.made("hello", { agentVersion: 1 }, t, orphan);
    await t.call("PUT", `/v1/agents/${orphan}`, { body: { providerId: null, model: null } });
    await t.call("DELETE", `/v1/providers/${providerId}?confirmVersionInvalidation=true`);
    expect((await fixture.ran(pinned)).error.code).toBe("provider_not_found");
  });

  test("tenant_deleting: the run fails", async () => {
    const leaving = await h.tenant();
    const runPath = await fixture.started(
      await fixture.made("hello", {}, leaving, await makeAgent(h, leaving)),
      leaving,
    );
    await h.sql`update tenants set deleting_at = now() where id = ${leaving.id}`;
    expect((await fixture.working(() => fixture.ended(runPath, leaving))).error.code).toBe("tenant_deleting");
  });
});

describe("a run that is under way", () => {
  test("provider_error: the run fails with its turn, and nothing is in the transcript", async () => {
    const path = await fixture.made("[[sim: fail=400]]");
    const run = await fixture.ran(path);
    expect({ ...run }).toMatchObject({
      status: "failed",
      error: { code: "provider_error" },
      sessionId: expect.any(String),
      finishedAt: expect.any(String),
    });
    expect(await fixture.read(`${path}/runs/${run.id}/messages`)).toEqual({
      data: [],
      nextCursor: null,
      latestCursor: null,
      status: "failed",
      error: run.error,
      finishedAt: run.finishedAt,
    });
  });

  test("denies what would wait for a person, tells the model and goes on", async () => {
    const prompt = '[[sim: tool=memory_save args={"text":"x"} ; text="went on"]]';
    const agent = await makeAgent(h, t, { tools: ["memory"], approvalInTasks: { default: "manual" } });
    const path = await fixture.made(prompt, {}, t, agent);
    const run = await fixture.ran(path);
    expect(run.status).toBe("succeeded");
    expect(JSON.stringify(requestsOf(h, userMessage(prompt)).at(-1)?.body)).toContain("approv");
    expect((await fixture.read(`${path}/runs/${run.id}/messages`)).data[1].parts.at(-1).text).toBe("went on");
    expect(await h.sql`select 1 from memories where agent_id = ${agent}`).toHaveLength(0);
  });

  test("begins once, however often its job is run, and not after it was canceled", async () => {
    const path = await fixture.made("hello");
    const runPath = await fixture.started(path);
    const id = lastOf(runPath);
    await Promise.all(Array.from({ length: 10 }, () => beginRun(h.ctx, id)));
    const run = await fixture.read(runPath);
    expect([run.status, (await h.sql`select 1 from turns where id = ${run.turnId}`).length]).toEqual(["running", 1]);
    expect(await h.sql`select 1 from sessions where metadata::text = '{}' and id = ${run.sessionId}`).toHaveLength(1);
    expect((await fixture.working(() => fixture.ended(runPath))).status).toBe("succeeded");

    const second = await fixture.started(path);
    await Promise.all([beginRun(h.ctx, lastOf(second)), t.call("POST", `${second}/cancel`)]);
    const canceled = await fixture.working(() => fixture.ended(second));
    expect(canceled.status).toBe("canceled");
    await beginRun(h.ctx, lastOf(second));
    expect(await fixture.read(second)).toEqual(canceled);
  });

  test("ends with its turn's worker: a run whose turn is given up is failed and the task is free", async () => {
    const path = await fixture.made("hello");
    const runPath = await fixture.started(path);
    await beginRun(h.ctx, lastOf(runPath));
    // A worker that showed something and died.
    const { turnId } = await fixture.read(runPath);
    await h.sql`update turns set status = 'running', attempt = 1, shown_at = now(), worker_id = 'wk_gone' where id = ${turnId}`;
    const run = await fixture.working(() => fixture.ended(runPath));
    expect([run.status, run.error.code]).toEqual(["failed", "service_unavailable"]);
    expect((await fixture.start(path)).status).toBe(202);
  });
});

describe("GET /v1/tasks/:taskId/runs", () => {
  test("200: newest first in pages; 404 for a run of another task; 400 invalid_cursor", async () => {
    const path = await fixture.made("hello");
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      const runPath = await fixture.started(path);
      ids.unshift(lastOf(runPath));
      await t.call("POST", `${runPath}/cancel`);
    }
    const pages: string[][] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: ApiResponse = await t.call("GET", `${path}/runs?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`);
      expect(page.status).toBe(200);
      pages.push(page.body.data.map(({ id }: { id: string }) => id));
      cursor = page.body.nextCursor;
    }
    expect(pages).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
    const other = await fixture.made("hello");
    for (const rest of ["", "/messages"])
      expect(statusAndCode(await t.call("GET", `${other}/runs/${ids[0]}${rest}`))).toEqual([404, "not_found"]);
    expect(statusAndCode(await t.call("GET", `${other}/runs?cursor=x`))).toEqual([400, "invalid_cursor"]);
    expect(statusAndCode(await t.call("GET", `${path}/runs?limit=201`))).toEqual([400, "validation_failed"]);
  });
});

describe("GET /v1/tasks/:taskId/runs/:runId/messages", () => {
  test("200: empty before the session, then the transcript in pages; an ordinary session once the task is deleted", async () => {
    const path = await fixture.made('[[sim: text="the answer"]]');
    const runPath = await fixture.started(path);
    expect(await fixture.read(`${runPath}/messages`)).toEqual({
      data: [],
      nextCursor: null,
      latestCursor: null,
      status: "queued",
      error: null,
      finishedAt: null,
    });
    const run = await fixture.working(() => fixture.ended(runPath));
    const whole = await fixture.read(`${runPath}/messages`, t, "a");
    expect({ ...whole }).toMatchObject({
      nextCursor: null,
      latestCursor: expect.any(String),
      status: "succeeded",
      error: null,
      finishedAt: run.finishedAt,
    });
    expect(whole.data.map(({ role }: { role: string }) => role)).toEqual(["user", "assistant"]);
    expect(whole.data[0].parts).toEqual([{ type: "text", text: '[[sim: text="the answer"]]' }]);
    const newest = await fixture.read(`${runPath}/messages?limit=1`);
    expect(newest.data).toEqual(whole.data.slice(1));
    expect((await fixture.read(`${runPath}/messages?limit=1&cursor=${newest.nextCursor}`)).data).toEqual(
      whole.data.slice(0, 1),
    );
    expect((await fixture.read(`${runPath}/messages?after=${whole.latestCursor}`)).data).toEqual([]);
    const mixed = await t.call("GET", `${runPath}/messages?after=${whole.latestCursor}&cursor=${newest.nextCursor}`);
    expect(statusAndCode(mixed)).toEqual([400, "validation_failed"]);
    expect(statusAndCode(await t.call("GET", `${runPath}/messages?after=x`))).toEqual([400, "invalid_cursor"]);

    const session = `/v1/agents/${agentId}/sessions/${run.sessionId}`;
    expect((await t.call("DELETE", path)).status).toBe(204);
    expect((await fixture.read(`${session}/messages`)).data).toEqual(whole.data);
    const resumed = await fixture.working(() =>
      t.call("POST", session, { body: { message: userMessage("go on"), stream: false } }),
    );
    expect(resumed.status).toBe(200);
  });
});
