import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Sql } from "../../../src/kernel/database/client.ts";
import { jobKey } from "../../../src/kernel/queue/catalogue.ts";
import { eventually } from "../../harness/eventually.ts";
import { useTenant } from "../../harness/fixture.ts";
import { startInstallation } from "../../harness/processes.ts";
import { makeAgent } from "../../harness/seed.ts";
import { open, play, script } from "../../harness/turns.ts";
import { type HeldTask, TaskMcpServer } from "../../servers/task-mcp.ts";

const { h } = await useTenant({ worker: true });
const calls = 'tool=tasks__research; text="Done."';
const approval = { default: "full" as const, overrides: [] };

let server: TaskMcpServer;
beforeEach(() => {
  server = new TaskMcpServer();
});
afterEach(() => server.stop());

const begun = () => eventually<HeldTask | undefined>(() => server.tasks[0]);
/** The job behind a task; it looks once a minute. */
const jobOf = async (sql: Sql, turnId: string) => {
  const [job] = await sql<{ key: string; runAt: Date; attempts: number }[]>`
    select key, run_at, attempts from graphile_worker._private_jobs
    where key like ${`${jobKey("mcp-task.cancel", turnId)}%`} and locked_at is null`;
  return job;
};
/** Waits until there is none, running or to come. */
const jobIsGone = (sql: Sql, turnId: string) =>
  eventually(async () => {
    const jobs = await sql`
      select 1 from graphile_worker._private_jobs
      where payload ->> 'turnId' = ${turnId} and payload ->> 'serverTaskId' is not null`;
    return jobs.length === 0;
  });
const lookNow = (sql: Sql, key: string) => sql`
  update graphile_worker._private_jobs set run_at = now() where key = ${key}`;

describe("behind a call that its server runs as a task stands a job", () => {
  /** A tenant with an agent that has the server's tool. */
  const scene = async () => {
    const t = await h.tenant();
    const connection = { name: "tasks", url: server.url, authType: "none" as const };
    const { id } = await t.parley.mcpConnections.create(connection);
    return { t, agentId: await makeAgent(h, t, { mcpConnectionIds: [id], approvalInChat: approval }) };
  };

  test("that goes when the call has its end, and cancels nothing while the turn runs", async () => {
    const { t, agentId } = await scene();
    const playing = play(t, agentId, null, { message: script(calls) });
    const task = await begun();
    const [turn] = await h.sql<{ id: string }[]>`select id from turns where agent_id = ${agentId}`;
    const { key, runAt } = await eventually(() => jobOf(h.sql, turn?.id ?? ""));
    await lookNow(h.sql, key);
    // It has looked, and looks again in a minute.
    await eventually(async () => {
      const job = await jobOf(h.sql, turn?.id ?? "");
      return job !== undefined && job.runAt > runAt;
    });
    await task?.done({ content: [{ type: "text", text: "The report." }] });
    const { chunks } = await playing;
    expect(chunks.find(({ type }) => type === "tool-output-available")?.output).toBe("The report.");
    await jobIsGone(h.sql, turn?.id ?? "");
    expect(server.count("tasks/cancel")).toBe(0);
  });

  /** A turn that is cancelled while its server refuses to be told, so that the job is left; its id, and the job's key. */
  const cancelUnheard = async (unheard: number) => {
    const { t, agentId } = await scene();
    const running = await open(h, t, "POST", `/v1/agents/${agentId}/sessions`, { body: { message: script(calls) } });
    await begun();
    server.breaks = { method: "tasks/cancel", times: unheard };
    const { turnId } = running;
    const { key } = await eventually(() => jobOf(h.sql, turnId));
    await t.call("POST", "/v1/turns/cancel", { body: { agentId } });
    await eventually(() => server.breaks?.times === unheard - 1);
    await running.rest();
    return { turnId, key };
  };

  test("that cancels the task later, as often as it takes, where its server could not be told at once", async () => {
    const { turnId, key } = await cancelUnheard(2);
    await lookNow(h.sql, key);
    await eventually(() => server.breaks?.times === 0);
    const again = await eventually(() => jobOf(h.sql, turnId));
    expect([again.key, again.attempts]).toEqual([key, 0]);
    const taskId = server.tasks[0]?.taskId ?? "";
    expect(await server.statusOf(taskId)).toBe("working");
    await lookNow(h.sql, key);
    await eventually(async () => (await server.statusOf(taskId)) === "cancelled");
    await jobIsGone(h.sql, turnId);
  });

  test("that ends without a word once the server keeps the task no longer", async () => {
    const { turnId, key } = await cancelUnheard(1);
    await h.sql`
      update graphile_worker._private_jobs set payload = jsonb_set(payload::jsonb, '{until}', '"2026-01-01T00:00:00Z"')
      where key = ${key}`;
    await lookNow(h.sql, key);
    await jobIsGone(h.sql, turnId);
    expect(server.count("tasks/cancel")).toBe(1);
  });
});

test("a task whose worker was killed is cancelled once its turn is taken from the dead worker", async () => {
  await using installation = await startInstallation();
  const c = await installation.client((await installation.serve()).url);
  const connection = { name: "tasks", url: server.url, authType: "none" };
  const { id } = (await (await c.request("POST", "/v1/mcp-connections", connection)).json()) as { id: string };
  await c.request("PUT", `/v1/agents/${c.agentId}`, { mcpConnectionIds: [id], approvalInChat: approval });
  const worker = await installation.work();
  const turn = await c.turn(`[[sim: ${calls}]]`);
  const task = await begun();
  const { key } = await eventually(() => jobOf(installation.sql, turn.turnId));
  // It does not look by itself before this test says so, however long the other worker takes to start.
  await installation.sql`
    update graphile_worker._private_jobs set run_at = now() + interval '1 hour' where key = ${key}`;
  await worker.kill();
  await installation.work();
  await turn.stream.closed;
  expect(server.count("tasks/cancel")).toBe(0);
  await lookNow(installation.sql, key);
  await eventually(async () => (await server.statusOf(task?.taskId ?? "")) === "cancelled");
  await jobIsGone(installation.sql, turn.turnId);
  expect(server.count("tasks/cancel")).toBe(1);
}, 120_000);
