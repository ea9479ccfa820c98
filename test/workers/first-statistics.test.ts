import { expect, test } from "bun:test";
import { FirstStatistics } from "../../workers/first-statistics.ts";
import { eventually } from "../harness/eventually.ts";
import { useAgent } from "../harness/fixture.ts";

const { h, t, agentId } = await useAgent();

/** What Postgres believes of the number of turns; -1: nothing. */
async function believed(): Promise<number> {
  const [row] = await h.sql<{ n: number }[]>`select reltuples::int as n from pg_class where oid = 'turns'::regclass`;
  return row?.n as number;
}

const addTurns = (count: number) => h.sql`
  insert into turns (id, tenant_id, agent_id, kind, agent_version, assistant_message_id, status)
  select 'trn_' || md5(random()::text || n), ${t.id}, ${agentId}, 'generate', 1, 'msg_' || n, 'succeeded'
  from generate_series(1, ${count}::int) n`;

test("after 50 and 500 turns of a worker Postgres takes statistics", async () => {
  // Nothing but the worker is to ask for them here.
  await h.sql`alter table turns set (autovacuum_enabled = false)`;
  const statistics = new FirstStatistics(h.ctx);
  const run = (count: number) => {
    for (let turn = 0; turn < count; turn++) statistics.noteTurn();
  };
  await addTurns(60);
  run(49);
  expect(await believed()).toBe(-1);
  run(1);
  await eventually(async () => (await believed()) === 60);
  await addTurns(540);
  run(450);
  await eventually(async () => (await believed()) === 600);
});
