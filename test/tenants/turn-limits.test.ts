import { describe, expect, test } from "bun:test";
import { queuedTurnsDefault } from "../../src/kernel/limits.ts";
import { changeTenant } from "../../src/tenants/store.ts";
import { eventually } from "../harness/eventually.ts";
import { useService } from "../harness/fixture.ts";
import { startHarness } from "../harness/harness.ts";
import { holdModel } from "../harness/held-model.ts";
import { Neighbour } from "../harness/neighbour.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";
import { statusAndCode } from "../harness/status-and-code.ts";
import { TaskFixture } from "../harness/task-fixture.ts";
import { type LiveStream, open, play, sessionPath } from "../harness/turns.ts";

describe("queued turns", async () => {
  // No worker runs, so what is accepted stays queued.
  const h = await useService();
  const tooMany: [number, string] = [429, "too_many_turns"];

  /** A tenant with a limit, and an agent of it. */
  async function limited(queuedTurns: number | null) {
    const t = await h.tenant();
    const agentId = await makeAgent(h, t);
    await changeTenant(h.sql, t.id, { queuedTurns });
    return { t, agentId };
  }

  test("429 too_many_turns: of 50 at once with a limit of 7 all but seven, with Retry-After", async () => {
    const { t, agentId } = await limited(7);
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        n % 2 === 0
          ? open(h, t, "POST", sessionPath(agentId, null), { body: { message: userMessage("x") } })
          : open(h, t, "POST", `/v1/agents/${agentId}/generate`, { body: { messages: [userMessage("x")] } }),
      ),
    );
    const refused = responses.filter(({ response }) => response.status === 429);
    expect(refused).toHaveLength(43);
    for (const { response } of refused) {
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    const [row] = await h.sql`select count(*)::int as turns from turns where tenant_id = ${t.id}`;
    expect(row?.turns).toBe(7);
    await Promise.all(responses.filter(({ response }) => response.status < 300).map((live) => live.leave()));
  });

  test.each(["a", "b"] as const)("form %s: a place that gets free is taken by the next turn", async (form) => {
    const { t, agentId } = await limited(1);
    const first = await open(h, t, "POST", sessionPath(agentId, null), { body: { message: userMessage("x") } });
    for (const body of [{ message: userMessage("x") }, { message: userMessage("x"), stream: false }])
      expect(statusAndCode(await play(t, agentId, null, body, { form }))).toEqual(tooMany);
    const generate = { body: { messages: [userMessage("x")], stream: false }, form };
    expect(statusAndCode(await t.call("POST", `/v1/agents/${agentId}/generate`, generate))).toEqual(tooMany);
    const keyed = { form, headers: { "idempotency-key": "k" } };
    expect(statusAndCode(await play(t, agentId, null, { message: userMessage("x") }, keyed))).toEqual(tooMany);
    expect((await t.call("POST", sessionPath(agentId, first.sessionId, "/cancel"))).status).toBe(202);
    const next = await open(h, t, "POST", sessionPath(agentId, first.sessionId), {
      body: { message: userMessage("x") },
    });
    expect(next.response.status).toBe(200);
    await next.leave();
  });

  test("0 takes none, none has no limit, and a limit of its own says nothing about other tenants", async () => {
    const none = await limited(0);
    expect(statusAndCode(await play(none.t, none.agentId, null, { message: userMessage("x") }))).toEqual(tooMany);
    const free = await limited(null);
    await fill(free.t.id, queuedTurnsDefault + 1);
    const body = { message: userMessage("x") };
    const live = await open(h, free.t, "POST", sessionPath(free.agentId, null), { body });
    expect(live.response.status).toBe(201);
    await live.leave();
  });

  test(`without a limit of its own a tenant has ${queuedTurnsDefault}, alone and asked for together`, async () => {
    const { t, agentId } = await limited(queuedTurnsDefault);
    await fill(t.id, queuedTurnsDefault - 1);
    const body = () => ({ body: { message: userMessage("x") } });
    const last = await open(h, t, "POST", sessionPath(agentId, null), body());
    expect(last.response.status).toBe(201);
    await last.leave();
    const more = await Promise.all(
      Array.from({ length: 20 }, () => open(h, t, "POST", sessionPath(agentId, null), body())),
    );
    expect(more.map(({ response }) => response.status)).toEqual(more.map(() => 429));
  });

  test("too_many_turns: a task's run that meets the limit fails with it", async () => {
    const { t, agentId } = await limited(0);
    const fixture = new TaskFixture(h, t, agentId);
    const run = await fixture.ran(await fixture.made("hello"));
    expect([run.status, run.error.code]).toEqual(["failed", "too_many_turns"]);
  });

  /** Gives a tenant queued turns without jobs. */
  async function fill(tenantId: string, count: number): Promise<void> {
    await h.sql`
      insert into turns (id, tenant_id, agent_id, session_id, kind, agent_version, assistant_message_id)
      select 'turn_' || right(md5(${tenantId} || n), 24), ${tenantId}, 'ag', 'ss_' || right(md5(${tenantId} || n), 24), 'session', 1, 'm'
      from generate_series(1, ${count}) n`;
  }
});

describe("running turns", () => {
  test("over two workers, also when both claim at once; a freed place is taken by the oldest", async () => {
    await using used = new AsyncDisposableStack();
    const h = await startHarness({ worker: true });
    used.defer(() => h.stop());
    await h.startWorkers();
    const model = used.use(holdModel(h.model));
    const a = await Neighbour.moveIn(h, model);
    await changeTenant(h.sql, a.t.id, { runningTurns: 3 });
    await a.hold(20);
    await a.settled(3, 17);
    expect(await a.places("running")).toEqual([0, 1, 2]);
    for (const turn of a.turns.slice(0, 3)) await a.cancel(turn as LiveStream);
    await eventually(async () => (await a.places("running")).join() === "3,4,5");
    await changeTenant(h.sql, a.t.id, { runningTurns: 0 });
    await a.freeOne();
    await a.settled(2, 14);
    await changeTenant(h.sql, a.t.id, { runningTurns: null });
    await a.settled(16, 0);
    model.release();
    await a.settled(0, 0);
  });
});
