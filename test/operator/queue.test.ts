import { afterEach, describe, expect, test } from "bun:test";
import { newId } from "../../src/kernel/ids.ts";
import { UsageError } from "../../src/operator/command.ts";
import { readQueueCommand } from "../../src/operator/queue.ts";
import { useAgent } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { holdModel, openEndedMark } from "../harness/held-model.ts";
import { startRole } from "../harness/process.ts";
import { callsOf, sharedRedisUrl, startInstallation } from "../harness/processes.ts";
import { inProcess } from "../harness/runtimes.ts";
import { userMessage } from "../harness/seed.ts";
import { logged } from "../harness/service-process.ts";
import { hasShown } from "../harness/turn-checks.ts";
import { open, sessionPath } from "../harness/turns.ts";

const { h, t, agentId: agent } = await useAgent();

// Nobody works here, so that jobs stay as a test leaves them.
describe.skipIf(!inProcess)("the queue's commands", () => {
  afterEach(async () => {
    await h.sql`delete from graphile_worker._private_jobs`;
  });

  const run = (...words: string[]) => readQueueCommand(words)(h.sql, h.ctx.config);
  const runJson = async (...words: string[]) => JSON.parse(await run(...words, "--json"));
  const refusal = async (...words: string[]) => {
    try {
      await run(...words);
    } catch (error) {
      if (error instanceof UsageError) return error.message;
      throw error;
    }
    return "done";
  };
  const addJob = async (task: string, payload: object, state: "ready" | "dead" | "later" | "running" = "ready") => {
    const [row] = await h.sql<{ id: string }[]>`
      select (graphile_worker.add_job(${task}, ${JSON.stringify(payload)}::text::json, max_attempts => 5,
        run_at => now() + ${state === "later" ? 3_600 : -90} * interval '1 second')).id::text as id`;
    const { id } = row!;
    if (state === "dead")
      await h.sql`update graphile_worker._private_jobs set attempts = 5, last_error = ${"It broke.\n  at work"} where id = ${id}::bigint`;
    if (state === "running")
      await h.sql`update graphile_worker._private_jobs set locked_at = now(), locked_by = 'somebody' where id = ${id}::bigint`;
    return id;
  };
  /** A turn that waits for a worker, with its caller's stream and its job. */
  const queuedTurn = async () => {
    const stream = await open(h, t, "POST", sessionPath(agent, null), { body: { message: userMessage("hello") } });
    const [job] = await h.sql<{ id: string }[]>`
      select id::text from graphile_worker._private_jobs where payload ->> 'turnId' = ${stream.turnId}`;
    return { stream, turnId: stream.turnId, sessionId: stream.sessionId, jobId: job!.id };
  };
  const turnOf = async (turnId: string) => {
    const [turn] = await h.sql<{ status: string; error: { code: string } | null; metered: number }[]>`
      select status, error, (select count(*)::int from usage where turn_id = t.id) as metered from turns t where id = ${turnId}`;
    return turn!;
  };
  const jobs = async () =>
    (await h.sql`select id::text from graphile_worker._private_jobs order by _private_jobs.id`).map(({ id }) => id);

  test("list: what is due, for later, running and dead, by task", async () => {
    for (const state of ["ready", "ready", "later", "running", "dead"] as const) await addJob("stranger", {}, state);
    const [counts] = await runJson("list");
    expect(counts).toMatchObject({ task: "stranger", ready: 2, scheduled: 1, running: 1, dead: 1 });
    expect(counts.oldestSeconds).toBeGreaterThanOrEqual(90);
    expect(await run("list")).toMatch(/^TASK +READY +OLDEST +SCHEDULED +RUNNING +DEAD\nstranger +2 +9\d s +1 +1 +1\n$/);
  });

  test("list --dead and show: dead letters with their error", async () => {
    const id = await addJob("chat.deliver", { threadId: "th_1" }, "dead");
    await addJob("chat.deliver", { threadId: "th_2" });
    const other = await addJob("stranger", {}, "dead");
    expect((await runJson("list", "--dead")).map((job: { id: string }) => job.id)).toEqual([id, other]);
    expect((await runJson("list", "--dead", "--task", "stranger")).map((job: { id: string }) => job.id)).toEqual([
      other,
    ]);
    expect(await runJson("list", "--dead", "--limit", "1")).toHaveLength(1);
    expect(await run("list", "--dead", "--task", "chat.deliver")).toMatch(
      new RegExp(`\n${id} +chat.deliver +5/5 +\\S+ +It broke.\n$`),
    );
    expect(await runJson("show", "--job", id)).toMatchObject({
      id,
      dead: true,
      payload: { threadId: "th_1" },
      lastError: "It broke.\n  at work",
    });
    expect(await run("show", "--job", id)).toContain("\nIt broke.\n  at work\n");
  });

  test("retry: a dead job is due again with all its attempts, and only it", async () => {
    const id = await addJob("stranger", { n: 1 }, "dead");
    const other = await addJob("other", { n: 2 }, "dead");
    expect(await run("retry", "--job", id)).toBe("1 of 1 jobs will run again now.\n");
    expect(await runJson("show", "--job", id)).toMatchObject({ attempts: 0, dead: false, payload: { n: 1 } });
    expect(await runJson("show", "--job", other)).toMatchObject({ dead: true });
    expect(await run("retry", "--dead")).toBe("1 of 1 jobs will run again now.\n");
    expect(await runJson("list", "--dead")).toEqual([]);
  });

  test("discard: a queued turn ends as failed with its job, its reader is told, and the session is free", async () => {
    const { stream, turnId, sessionId, jobId } = await queuedTurn();
    expect(await run("discard", "--job", jobId)).toBe("1 discarded: its turn ended as failed.\n");
    expect(await turnOf(turnId)).toMatchObject({
      status: "failed",
      error: { code: "service_unavailable" },
      metered: 1,
    });
    expect(await jobs()).toEqual([]);
    const events = await stream.rest();
    expect(events.at(-1)?.data).toBe("[DONE]");
    expect(events.map(({ data }) => (data === "[DONE]" ? data : data.type))).toContain("error");
    const messages = await t.call("GET", sessionPath(agent, sessionId, "/messages"));
    expect(messages.body.data).toEqual([]);
    const next = await open(h, t, "POST", sessionPath(agent, sessionId), { body: { message: userMessage("again") } });
    expect(next.response.status).toBe(200);
    await next.leave();
    await t.call("POST", sessionPath(agent, sessionId, "/cancel"));
  });

  test("discard --dead: turns and runs end, each with its job", async () => {
    const turn = await queuedTurn();
    const task = await t.call("POST", "/v1/tasks", { body: { agentId: agent, name: "n", prompt: "p", submit: true } });
    await h.sql`update graphile_worker._private_jobs set attempts = max_attempts`;
    const said = await run("discard", "--dead");
    expect(said).toContain("1 discarded: its turn ended as failed.\n");
    expect(said).toContain("1 discarded: its task's run ended as failed.\n");
    expect((await turnOf(turn.turnId)).status).toBe("failed");
    const ended = await t.call("GET", `/v1/tasks/${task.body.task.id}/runs/${task.body.runId}`);
    expect(ended.body).toMatchObject({ status: "failed", error: { code: "service_unavailable" } });
    expect(await jobs()).toEqual([]);
    await turn.stream.leave();
  });

  test("discard: a schedule's fire is skipped, and the next one waits", async () => {
    const schedule = { kind: "interval", config: { everyMs: 60_000 } };
    const made = await t.call("POST", "/v1/tasks", { body: { agentId: agent, name: "s", prompt: "p", schedule } });
    const fires = async () => {
      const [row] = await h.sql<{ next: Date; id: string; runAt: Date }[]>`
        select next_fire_at as next, j.id::text, j.run_at from tasks join graphile_worker._private_jobs j on j.key = 'task.fire:' || tasks.id
        where tasks.id = ${made.body.task.id}`;
      return row!;
    };
    const before = await fires();
    expect(await run("discard", "--job", before.id)).toContain("its schedule goes on with the next fire");
    const after = await fires();
    expect(after.next.getTime() - before.next.getTime()).toBe(60_000);
    expect(after.runAt).toEqual(after.next);
    expect((await t.call("GET", `/v1/tasks/${made.body.task.id}/runs`)).body.data).toEqual([]);
  });

  test("discard: a turn that is over, or never was, takes nothing with it", async () => {
    const { stream, turnId, sessionId, jobId } = await queuedTurn();
    await t.call("POST", sessionPath(agent, sessionId, "/cancel"));
    await stream.rest();
    expect(await run("discard", "--job", jobId)).toContain("1 discarded.");
    expect((await turnOf(turnId)).status).toBe("canceled");
    const stray = await addJob("turn", { turnId: newId("turn"), lockKey: newId("session"), tenantId: t.id }, "dead");
    const odd = await addJob("turn", { turnId: 7 }, "dead");
    for (const id of [stray, odd]) expect(await run("discard", "--job", id)).toContain("1 discarded.");
    expect(await jobs()).toEqual([]);
  });

  test("a job that runs is neither retried nor discarded, and a purge is only retried", async () => {
    const { stream, turnId, jobId } = await queuedTurn();
    await h.sql`update graphile_worker._private_jobs set locked_at = now(), locked_by = 'somebody' where id = ${jobId}::bigint`;
    expect(await refusal("discard", "--job", jobId)).toStartWith(`Job ${jobId} is running`);
    expect(await refusal("retry", "--job", jobId)).toStartWith(`Job ${jobId} is running`);
    expect((await turnOf(turnId)).status).toBe("queued");
    const purge = await addJob("workspace.purge", { workspaceId: "ws_1", tenantId: "ten_1" }, "dead");
    expect(await refusal("discard", "--job", purge)).toContain("retry it instead");
    expect(await jobs()).toEqual([jobId, purge]);
    await stream.leave();
  });

  test("words that mean nothing are refused before anything is opened", async () => {
    for (const words of [
      [],
      ["dance"],
      ["show"],
      ["show", "--job", "x"],
      ["show", "--job", "1", "--job", "2"],
      ["retry"],
      ["retry", "--job", "1", "--dead"],
      ["discard", "--job", "1", "--task", "turn"],
      ["list", "--limit", "3"],
      ["list", "--dead", "--limit", "0"],
      ["drain"],
      ["drain", "--worker", "me"],
      ["list", "--odd"],
    ])
      expect(() => readQueueCommand(words)).toThrow(UsageError);
    expect(await refusal("show", "--job", "123456789")).toBe("There is no job 123456789.");
    expect(await refusal("drain", "--worker", newId("worker"))).toStartWith("There is no worker wk_");
  });

  test("npm run queue: prints the result, or one line and no stack", async () => {
    const env = { DATABASE_URL: h.databaseUrl };
    const id = await addJob("stranger", {}, "dead");
    const listed = startRole("queue", env, ["list", "--dead", "--json"]);
    expect(await listed.ended()).toBe(0);
    expect(JSON.parse(listed.stdout())).toMatchObject([{ id }]);
    const wrong = startRole("queue", env, ["show", "--job", "999999"]);
    expect(await wrong.ended()).toBe(1);
    expect(wrong.stderr()).toBe("parley: There is no job 999999.\n");
  });
});

describe.skipIf(sharedRedisUrl === null)("queue drain", () => {
  test("the worker takes nothing new, finishes what it runs however long that takes, and ends; another goes on", async () => {
    await using installation = await startInstallation();
    const http = await installation.serve();
    const worker = await installation.work({ DRAIN_SECONDS: "0" });
    await using model = holdModel(installation.model);
    const c = await installation.client(http.url, model.url);
    const command = (...words: string[]) => readQueueCommand(words)(installation.sql, { workerConcurrency: 500 });
    const states = async () =>
      JSON.parse(await command("workers", "--json")).map((w: { workerId: string; state: string; turns: number }) => [
        w.workerId,
        w.state,
        w.turns,
      ]);
    const long = await c.turn(`long ${openEndedMark} [[sim: chunks=60 delayMs=10]]`);
    await hasShown(long);
    expect(await states()).toEqual([[worker.workerId, "working", 1]]);
    expect(await command("drain", "--worker", worker.workerId)).toContain("takes nothing new");
    await logged(worker, "draining: nothing new is taken");
    expect(await states()).toEqual([[worker.workerId, "draining", 1]]);
    const waiting = await c.turn("waits for another worker");
    model.release();
    await long.stream.closed;
    expect(long.stream.chunks.filter(({ type }) => type === "text-delta")).toHaveLength(60);
    expect((await worker.exited).code).toBe(0);
    expect(callsOf(installation.model, "waits for another worker")).toBe(0);
    const other = await installation.work();
    await waiting.stream.closed;
    // An ending worker takes its row along; where it could not, the reaper does.
    const left = JSON.stringify([[other.workerId, "working", 0]]);
    await eventually(async () => JSON.stringify(await states()) === left);
  }, 120_000);
});
