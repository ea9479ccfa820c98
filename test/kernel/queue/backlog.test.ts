import { expect, test } from "bun:test";
import { createOperatorApp } from "../../../src/kernel/http/operator-app.ts";
import { type TenantDemand, workersFor } from "../../../src/kernel/queue/backlog.ts";
import { readQueueCommand } from "../../../src/operator/queue.ts";
import { useService } from "../../harness/fixture.ts";

const tenant = (demand: Partial<TenantDemand>): TenantDemand => ({
  running: 0,
  waiting: 0,
  weight: 1,
  runningMax: null,
  ...demand,
});

test("workers wanted follow what runs and waits, as shares and limits allow", () => {
  expect(workersFor([], 10, 0)).toBe(0);
  expect(workersFor([], 10, 3)).toBe(1);
  expect(workersFor([tenant({ running: 3 })], 10, 3)).toBe(1);
  // One tenant has four fifths of each worker.
  expect(workersFor([tenant({ running: 8, waiting: 8 })], 10, 1)).toBe(2);
  expect(workersFor([tenant({ running: 8, waiting: 9 })], 10, 1)).toBe(3);
  expect(workersFor([tenant({ running: 8, waiting: 92, runningMax: 8 })], 10, 1)).toBe(1);
  expect(workersFor([tenant({ running: 5 }), tenant({ running: 5 }), tenant({ waiting: 1 })], 10, 1)).toBe(2);
  expect(workersFor([tenant({ waiting: 4 })], 1, 0)).toBe(4);
});

const h = await useService();

test("/backlog says what waits, and wants the operator's token where one is set", async () => {
  await h.sql`
    insert into tenants (id, name, form) values ('ten_backlog', 'B', 'b')`;
  await h.sql`
    insert into turns (id, tenant_id, agent_id, kind, agent_version, assistant_message_id, accepted_at, parked_at)
    values ('turn_b1', 'ten_backlog', 'ag_1', 'generate', 1, 'msg_1', now() - interval '7 seconds', null),
      ('turn_b2', 'ten_backlog', 'ag_1', 'generate', 1, 'msg_2', now(), now())`;
  const ask = (token: string | null, headers: Record<string, string> = {}) =>
    createOperatorApp({ ...h.ctx, config: { ...h.ctx.config, metricsToken: token, workerConcurrency: 10 } })(
      new Request("http://parley.test/backlog", { headers }),
    );
  const response = await ask(null);
  const body = await response.json();
  expect(body).toEqual({
    queued: 1,
    parked: 1,
    running: 0,
    slots: 0,
    oldestSeconds: expect.any(Number),
    workersWanted: 1,
  });
  expect(body.oldestSeconds).toBeWithin(7, 60);
  // The operator's command says the same where no worker beats that would say how many slots one has.
  const status = JSON.parse(await readQueueCommand(["status", "--json"])(h.sql, { workerConcurrency: 10 }));
  expect(status.workersWanted).toBe(body.workersWanted);
  const token = "a token of the operator";
  expect((await ask(token)).status).toBe(401);
  expect((await ask(token, { authorization: `Bearer ${token}` })).status).toBe(200);
});
