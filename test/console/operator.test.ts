import { describe, expect, test } from "bun:test";
import type { GaugePart } from "../../src/console-shapes/health.ts";
import { noteGauges } from "../../src/installation/gauges.ts";
import { startHttpBeat } from "../../src/installation/http-processes.ts";
import { newId } from "../../src/kernel/ids.ts";
import { addJob } from "../../src/kernel/queue/add-job.ts";
import { type ConsolePage, signInToConsole } from "../harness/console-page.ts";
import { useAgent } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { heldMark, holdModel } from "../harness/held-model.ts";
import { inProcess } from "../harness/runtimes.ts";
import { makeAgent, makeProvider, userMessage } from "../harness/seed.ts";

const operatorToken = "operator-token-of-the-tests";
const { h, t, agentId } = await useAgent({ env: { CONSOLE: "1", OPERATOR_TOKEN: operatorToken } });
const operator = await signInToConsole(h.app, { token: operatorToken });
const tenant = await signInToConsole(h.app, { apiKey: t.token });

/** The operator's events of an action, newest first. */
const eventsOf = (action: string) => h.sql<
  { actorId: string; resourceId: string; requestId: string; changes: string[] }[]
>`
  select actor_id, resource_id, request_id, changes from audit_events
  where action = ${action} and actor_type = 'operator' order by at desc`;

/** A job without attempts left. */
async function deadLetter(task: "turn" | "session.purge" = "turn"): Promise<string> {
  const ids = { turnId: newId("turn"), lockKey: newId("session"), tenantId: t.id };
  if (task === "turn") await addJob(h.sql, task, ids);
  else await addJob(h.sql, task, { sessionId: newId("session"), tenantId: t.id });
  const [row] = await h.sql<{ id: string }[]>`
    update graphile_worker._private_jobs set attempts = max_attempts, last_error = 'It broke.'
    where id = (select max(id) from graphile_worker._private_jobs) returning id::text`;
  return row?.id as string;
}

describe("an operator", () => {
  test("is who signs in with OPERATOR_TOKEN", () => {
    expect(operator.session.principal).toEqual({
      kind: "operator",
      tenantId: null,
      tenantName: null,
      keyId: null,
      keyName: null,
      userId: null,
      memberId: null,
      role: null,
      agentIds: null,
    });
  });

  test("sees the health of the installation: parts of the last hours, processes, stores and what waits for nobody", async () => {
    const { body } = await operator.call("GET", "/operator/health");
    expect(body.process).toMatchObject({
      version: expect.any(String),
      pid: process.pid,
      memoryBytes: expect.any(Number),
    });
    expect(body.parts).toHaveLength(72);
    const [last, before] = [body.parts.at(-1), body.parts.at(-2)];
    expect(Date.parse(last.at) - Date.parse(before.at)).toBe(300_000);
    expect(Date.parse(last.at)).toBeLessThanOrEqual(Date.now());
    expect(body.relay.pingMs).toBeNumber();
    expect(body.postgres.connections).toBeGreaterThan(0);
    expect(body.deadLetters).toBeNumber();
  });

  test("sees how the installation was in the last day, of which a minute is written down once", async () => {
    const gauges = async () => (await operator.call("GET", "/operator/gauges")).body.data as GaugePart[];
    const none = await gauges();
    expect(none).toHaveLength(144);
    expect(none.every(({ turnsWaiting }) => turnsWaiting === null)).toBe(true);
    await h.sql`
      insert into gauges select now() - age * interval '1 minute', 7, 3, 9, 12.5, 2, 1000, 2000, age
      from unnest(array[60, 61, 62, 3 * 24 * 60]) age`;
    const dead = await deadLetter();
    // A minute may begin between two of them.
    for (let times = 0; times < 5; times++) await noteGauges(h.sql);
    const rows = await h.sql<{ at: Date }[]>`select at from gauges order by at`;
    expect([4, 5]).toContain(rows.length);
    const parts = await gauges();
    const hourAgo = parts.filter(({ turnsWaiting }) => turnsWaiting === 7);
    expect(hourAgo[0]).toMatchObject({ turnsRunning: 3, jobsReady: 9, oldestSeconds: 12.5, httpMemoryBytes: 1000 });
    expect(Math.max(...hourAgo.map(({ postgresConnections }) => postgresConnections ?? 0))).toBe(62);
    const last = parts.at(-1) as GaugePart;
    expect(last).toMatchObject({ turnsRunning: 0, deadLetters: 1, workerMemoryBytes: expect.any(Number) });
    expect(last.postgresConnections).toBeGreaterThan(0);
    expect((await tenant.call("GET", "/operator/gauges")).status).toBe(404);
    await h.sql`delete from graphile_worker._private_jobs where id = ${dead}`;
    await h.sql`delete from gauges`;
  });

  test("sees the HTTP processes while they beat, and those that are lost for a while", async () => {
    const processes = async () => (await operator.call("GET", "/operator/health")).body.httpProcesses;
    await h.sql`
      insert into http_processes (id, host, pid, version, memory_bytes, beat_at)
      values ('lost', 'far', 1, '0.1.0', 5, now() - interval '1 minute'), ('gone', 'far', 2, '0.1.0', 5, now() - interval '1 hour')`;
    const stop = startHttpBeat(h.sql, h.ctx.log);
    await eventually(async () => (await h.sql`select 1 from http_processes`).length === 2);
    const shown = await eventually(async () => {
      const found = await processes();
      return found.length === 2 && found;
    });
    expect(shown).toMatchObject([
      { host: "far", pid: 1, state: "silent", version: "0.1.0" },
      { pid: process.pid, state: "serving", version: expect.any(String), memoryBytes: expect.any(Number) },
    ]);
    await stop();
    expect(await h.sql`select id from http_processes`).toEqual([{ id: "lost" }] as never);
    await h.sql`delete from http_processes`;
  });

  test("makes a key for a tenant, and for none that is not there", async () => {
    const path = `/operator/tenants/${t.id}/keys`;
    const made = await operator.call("POST", path, { body: { name: "made by the operator" } });
    expect(made.status).toBe(201);
    expect((await t.call("GET", "/v1/agents", { token: made.body.token })).status).toBe(200);
    expect((await eventsOf("api_key.create"))[0]).toMatchObject({ actorId: "console", resourceId: made.body.apiKeyId });
    const strange = `/operator/tenants/${newId("tenant")}/keys`;
    expect((await operator.call("POST", strange, { body: { name: "x" } })).status).toBe(404);
    expect((await tenant.call("POST", path, { body: { name: "x" } })).status).toBe(404);
  });

  test("has no tenant's operation, and a tenant none of the operator's", async () => {
    for (const path of ["/agents", "/turns", "/usage", "/overview", "/waiting", `/agents/${agentId}/sessions`])
      expect((await operator.call("GET", path)).status).toBe(404);
    expect((await operator.call("POST", "/prompts", { body: { name: "x", template: "x" } })).status).toBe(404);
    for (const path of ["/queue", "/workers", "/dead-letters", "/tenants", `/tenants/${t.id}`])
      expect((await tenant.call("GET", `/operator${path}`)).status).toBe(404);
    for (const path of [`/tenants/${t.id}/suspend`, `/tenants/${t.id}/end-turns`, "/workers/wk_0/drain"])
      expect((await tenant.call("POST", `/operator${path}`)).status).toBe(404);
    expect((await tenant.call("PATCH", `/operator/tenants/${t.id}`, { body: { weight: 2 } })).status).toBe(404);
    expect((await tenant.call("GET", "/agents")).status).toBe(200);
  });

  test("needs the page's token to change something", async () => {
    const headers = { "x-csrf-token": null };
    expect((await operator.call("POST", `/operator/tenants/${t.id}/suspend`, { headers })).status).toBe(403);
  });

  test.skipIf(!inProcess)("is signed out when the token is another one", async () => {
    const page = await signInToConsole(h.app, { token: operatorToken });
    const { operatorToken: own } = h.ctx.config;
    Object.assign(h.ctx.config, { operatorToken: "another-token-of-the-operator" });
    try {
      expect((await page.call("GET", "/session")).status).toBe(401);
      expect((await page.call("GET", "/operator/queue")).status).toBe(401);
    } finally {
      Object.assign(h.ctx.config, { operatorToken: own });
    }
  });
});

describe("tenants", () => {
  test("are listed by pages, newest first, with their limits and what they have queued", async () => {
    const made = [await h.tenant({ name: "Page one" }), await h.tenant({ name: "Page two" }), await h.tenant()];
    const first = (await operator.call("GET", "/operator/tenants?limit=2")).body;
    expect(first.data.map(({ tenantId }: { tenantId: string }) => tenantId)).toEqual([made[2]?.id, made[1]?.id]);
    const next = (await operator.call("GET", `/operator/tenants?limit=2&cursor=${first.nextCursor}`)).body;
    expect(next.data[0].tenantId).toBe(made[0]?.id);
    const named = (await operator.call("GET", "/operator/tenants?name=page%20T")).body;
    expect(named.data.map(({ name }: { name: string }) => name)).toEqual(["Page two"]);
    expect((await operator.call("GET", "/operator/tenants?cursor=x")).body.error.code).toBe("invalid_cursor");
    expect((await operator.call("GET", "/operator/tenants?limit=201")).status).toBe(400);
    const { tenantId, weight, queuedTurns, suspended, load } = named.data[0];
    expect({ tenantId, weight, queuedTurns, suspended, load }).toEqual({
      tenantId: made[1]?.id as string,
      weight: 1,
      queuedTurns: 10_000,
      suspended: false,
      load: { queued: 0, oldestSeconds: 0, parked: 0, running: 0, waiting: 0 },
    });
  });

  test("get limits and a weight, are suspended and resumed; each leaves an event", async () => {
    const { id, call } = await h.tenant();
    const path = `/operator/tenants/${id}`;
    const changed = await operator.call("PATCH", path, { body: { runningTurns: 5, weight: 3, usageCredit: null } });
    expect([changed.status, changed.body.runningTurns, changed.body.weight]).toEqual([200, 5, 3]);
    const [event] = await eventsOf("tenant.set");
    expect(event).toMatchObject({ actorId: "console", resourceId: id, changes: ["runningTurns", "weight"] });
    expect(event?.requestId).toBe(changed.headers.get("x-request-id") as string);
    for (const body of [{}, { weight: 0 }, { weight: 101 }, { runningTurns: -1 }, { runningTurns: 1.5 }, { name: "x" }])
      expect((await operator.call("PATCH", path, { body })).status).toBe(400);
    const suspended = await operator.call("POST", `${path}/suspend`);
    expect([suspended.status, suspended.body.suspended]).toEqual([200, true]);
    expect((await call("GET", "/v1/agents")).status).toBe(402);
    expect((await operator.call("POST", `${path}/resume`)).body.suspended).toBe(false);
    expect((await call("GET", "/v1/agents")).status).toBe(200);
    const none = "/operator/tenants/ten_000000000000000000000000";
    expect((await operator.call("GET", none)).status).toBe(404);
    expect((await operator.call("PATCH", none, { body: { weight: 1 } })).status).toBe(404);
    for (const action of ["suspend", "resume", "end-turns"])
      expect((await operator.call("POST", `${none}/${action}`)).status).toBe(404);
  });
});

describe("the queue", () => {
  test("is shown by kind and by tenant, and what a tenant has in it can be ended", async () => {
    const body = { message: userMessage("Hello!"), stream: false };
    const turn = t.call("POST", `/v1/agents/${agentId}/sessions`, { body });
    const queue = async () => (await operator.call("GET", "/operator/queue")).body;
    const { jobs, tenants } = await eventually(async () => {
      const shown = await queue();
      const isReady = shown.jobs.some(
        ({ task, ready }: { task: string; ready: number }) => task === "turn" && ready > 0,
      );
      return shown.tenants.length > 0 && isReady && shown;
    });
    expect(jobs.find(({ task }: { task: string }) => task === "turn")).toMatchObject({ ready: 1, running: 0, dead: 0 });
    expect(tenants).toMatchObject([{ tenantId: t.id, name: "Test", queued: 1, running: 0 }]);
    const none = { agentId: "ag_000000000000000000000000" };
    const unknown = await operator.call("POST", `/operator/tenants/${t.id}/end-turns`, { body: none });
    expect([unknown.status, unknown.body.error.code]).toEqual([404, "not_found"]);
    const ended = await operator.call("POST", `/operator/tenants/${t.id}/end-turns`);
    expect([ended.status, ended.body]).toEqual([202, { queued: 1, running: 0, waiting: 0, runs: 0 }]);
    expect((await turn).body.error.code).toBe("turn_canceled");
    expect((await queue()).tenants).toEqual([]);
    expect((await eventsOf("tenant.end_turns"))[0]).toMatchObject({ actorId: "console", resourceId: t.id });
  });

  test("dead letters are listed by pages, and retried or discarded", async () => {
    const ids = [await deadLetter(), await deadLetter(), await deadLetter("session.purge")];
    const first = (await operator.call("GET", "/operator/dead-letters?limit=2")).body;
    expect(first.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 2));
    expect(first.data[0]).toMatchObject({ task: "turn", attempts: 5, maxAttempts: 5, error: "It broke." });
    expect(first.data[0].payload.tenantId).toBe(t.id);
    const rest = (await operator.call("GET", `/operator/dead-letters?limit=2&cursor=${first.nextCursor}`)).body;
    expect([rest.data.length, rest.nextCursor]).toEqual([1, null]);
    const purges = (await operator.call("GET", "/operator/dead-letters?task=session.purge")).body;
    expect(purges.data).toHaveLength(1);

    const act = (id: string | undefined, action: string) =>
      operator.call("POST", `/operator/dead-letters/${id}/${action}`);
    const kept = await act(ids[2], "discard");
    expect([kept.status, kept.body.error.code]).toEqual([409, "job_state"]);
    const discarded = await act(ids[1], "discard");
    expect([discarded.status, discarded.body]).toEqual([200, { id: ids[1], outcome: "alone" }]);
    const retried = await act(ids[0], "retry");
    expect([retried.status, retried.body]).toEqual([202, { id: ids[0] }]);
    // Not dead any more, or gone.
    for (const id of [ids[0], ids[1], "1"])
      for (const action of ["retry", "discard"]) expect((await act(id, action)).status).toBe(404);
    expect((await act("x", "retry")).status).toBe(400);
    expect([(await eventsOf("job.discard"))[0]?.resourceId, (await eventsOf("job.retry"))[0]?.resourceId]).toEqual([
      ids[1],
      ids[0],
    ]);
    await act(ids[2], "retry");
    await h.sql`delete from graphile_worker._private_jobs`;
  });
});

describe("workers", () => {
  const rowsOf = async (page: ConsolePage) => (await page.call("GET", "/operator/workers")).body.data;

  test("are shown with what they run, and one that is drained empties and goes", async () => {
    await using model = holdModel(h.model);
    const { id: providerId } = await makeProvider(h, t, { baseUrl: model.url });
    const agent = await makeAgent(h, t, { providerId });
    await h.startWorkers();
    const ask = (text: string) =>
      t.call("POST", `/v1/agents/${agent}/sessions`, { body: { message: userMessage(text), stream: false } });
    const held = ask(heldMark);
    const running = await eventually(async () => {
      const [worker] = await rowsOf(operator);
      // Two statements read the turns, and the number may be of a moment earlier than the list.
      return worker?.running.length === 1 && worker.turns === 1 && worker;
    });
    expect(running).toMatchObject({ state: "working", turns: 1, tenants: [{ tenantId: t.id, turns: 1 }] });
    expect(running.running[0]).toMatchObject({ tenantId: t.id, agentId: agent, kind: "session" });
    const drained = await operator.call("POST", `/operator/workers/${running.workerId}/drain`);
    expect([drained.status, drained.body.state, drained.body.turns]).toEqual([202, "draining", 1]);
    expect((await eventsOf("worker.drain"))[0]).toMatchObject({ actorId: "console", resourceId: running.workerId });
    model.release();
    expect((await held).status).toBe(201);
    await eventually(async () => (await rowsOf(operator)).every(({ turns }: { turns: number }) => turns === 0));
  });

  test("404 not_found: those that do not exist", async () => {
    expect((await operator.call("POST", "/operator/workers/wk_000000000000000000000000/drain")).status).toBe(404);
    expect((await operator.call("POST", "/operator/workers/x/drain")).status).toBe(400);
    expect(await rowsOf(operator)).toBeArray();
  });
});
