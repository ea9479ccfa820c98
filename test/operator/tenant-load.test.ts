import { afterAll, describe, expect, test } from "bun:test";
import { newId } from "../../src/kernel/ids.ts";
import { QueueGauges } from "../../src/kernel/queue/gauges.ts";
import { UsageError } from "../../src/operator/command.ts";
import { readQueueCommand } from "../../src/operator/queue.ts";
import { useService } from "../harness/fixture.ts";
import { holdModel } from "../harness/held-model.ts";
import { Neighbour } from "../harness/neighbour.ts";
import { samplesOf } from "../harness/prometheus.ts";
import { inProcess } from "../harness/runtimes.ts";
import { makeAgent, userMessage } from "../harness/seed.ts";
import { play } from "../harness/turns.ts";

describe.skipIf(!inProcess)("a bad neighbour", async () => {
  const h = await useService({ worker: true, env: { WORKER_CONCURRENCY: "6" } });
  const model = holdModel(h.model);
  afterAll(() => model[Symbol.asyncDispose]());
  const a = await Neighbour.moveIn(h, model);
  const b = await Neighbour.moveIn(h, model);
  const run = (...words: string[]) => readQueueCommand(words)(h.sql, h.ctx.config);
  const runJson = async (...words: string[]) => JSON.parse(await run(...words, "--json"));
  const [worker] = await runJson("workers");

  test("is seen: what it has queued, parked and running, and where", async () => {
    const asking = await makeAgent(h, a.t, { tools: ["memory"], approvalInChat: { default: "manual" } });
    const script = '[[sim: tool=memory_save args={"text":"x"} ; text="done"]]';
    expect((await play(a.t, asking, null, { message: userMessage(script) })).status).toBe(201);
    await b.hold(1);
    await b.settled(1, 0);
    await a.hold(10);
    await a.settled(4, 6);
    const load = await runJson("list", "--tenant", a.t.id);
    expect(load).toEqual({
      tenantId: a.t.id,
      queued: 6,
      oldestSeconds: expect.any(Number),
      parked: 6,
      running: 4,
      waiting: 1,
      workers: [{ workerId: worker.workerId, turns: 4 }],
    });
    expect(await run("list", "--tenant", a.t.id)).toMatch(
      /^TENANT +QUEUED +OLDEST +PARKED +RUNNING +WAITING\nten_\w+ +6 +\d+ s +6 +4 +1\n\nWORKER +TURNS\nwk_\w+ +4\n$/,
    );
    const [busy] = await runJson("workers");
    expect(busy).toMatchObject({ slots: 6, turns: 5 });
    expect(busy.tenants).toEqual([
      { tenantId: a.t.id, turns: 4 },
      { tenantId: b.t.id, turns: 1 },
    ]);
    expect(await run("workers")).toContain(` 5/6    ${a.t.id} 4, ${b.t.id} 1 `);
  });

  test("is seen in the metrics, by its id only where a token guards them", async () => {
    const text = await new QueueGauges(h.sql, { tellTenants: true }).text();
    const of = (name: string) =>
      samplesOf(text).flatMap((sample) => (sample.name === name ? [[sample.labels.tenant, sample.value]] : []));
    expect(of("parley_tenant_running_turns")).toEqual([
      [a.t.id, 4],
      [b.t.id, 1],
    ]);
    expect(of("parley_tenant_queued_turns")).toEqual([[a.t.id, 6]]);
    expect(of("parley_turns_parked")).toEqual([[undefined, 6]]);
    expect(await new QueueGauges(h.sql, { tellTenants: false }).text()).not.toContain("ten_");
  });

  test("is stopped: everything of it ends as canceled, and nothing of others", async () => {
    const unused = await makeAgent(h, a.t);
    const elsewhere = await runJson("end", "--tenant", a.t.id, "--agent", unused);
    expect(elsewhere).toEqual({ queued: 0, running: 0, waiting: 0, runs: 0 });
    expect(await run("end", "--tenant", a.t.id)).toBe("11 turns are canceled: 6 queued, 4 running, 1 waiting.\n");
    const ends = await Promise.all(a.turns.map((turn) => turn.rest()));
    for (const events of ends) expect(events.at(-2)?.data).toEqual({ type: "abort" });
    const [left] = await h.sql`
      select array_agg(distinct status) as statuses, bool_and(exists (select 1 from usage u where u.turn_id = t.id)) as metered
      from turns t where tenant_id = ${a.t.id}`;
    expect(left).toEqual({ statuses: ["canceled"], metered: true });
    expect(await b.places("running")).toEqual([0]);
    expect(await runJson("end", "--tenant", a.t.id)).toMatchObject({ queued: 0, running: 0, waiting: 0 });
  });

  test("an agent that the tenant does not have is refused in one line, and nothing is written", async () => {
    const events = async () => (await h.sql`select 1 from audit_events where tenant_id = ${a.t.id}`).length;
    const before = await events();
    for (const agentId of [newId("agent"), await makeAgent(h, b.t)]) {
      const message = `The tenant ${a.t.id} has no agent ${agentId}.`;
      await expect(run("end", "--tenant", a.t.id, "--agent", agentId)).rejects.toThrow(new UsageError(message));
    }
    expect(await events()).toBe(before);
  });

  test("words that mean nothing are refused", async () => {
    for (const words of [
      ["end"],
      ["end", "--tenant", "x"],
      ["end", "--tenant", a.t.id, "--agent", "x"],
      ["list", "--tenant", "x"],
      ["list", "--tenant", a.t.id, "--dead"],
    ])
      expect(() => readQueueCommand(words)).toThrow(UsageError);
    for (const verb of ["end", "list"])
      await expect(run(verb, "--tenant", newId("tenant"))).rejects.toThrow(UsageError);
  });
});
