import { afterAll, beforeAll, expect, test } from "bun:test";
import postgres from "postgres";
import type { Sql } from "../../../src/kernel/database/client.ts";
import { endsOfTurns } from "../../../src/sessions/state/turn-log.ts";
import { useAgent } from "../../harness/fixture.ts";
import { withPatientClient } from "../../harness/patient-client.ts";
import { mostRead, type Plan, type SentStatement } from "../../harness/plans.ts";

const { h, t, agentId } = await useAgent();
/** A table of some pages that Postgres knows: a plan that reads all of it is kept while the table grows. */
const turns = 300;
const asked = 20;
const idOf = (place: number) => `turn_${String(place).padStart(24, "0")}`;

beforeAll(() => withPatientClient(h.databaseUrl, seed));

async function seed(sql: postgres.Sql): Promise<void> {
  await sql`
    insert into turns (id, tenant_id, agent_id, session_id, kind, status, user_id, agent_version, assistant_message_id, finished_at)
    select 'turn_' || lpad(n::text, 24, '0'), ${t.id}, ${agentId}, 'ss_' || n, 'session', 'succeeded', '', 1, 'msg_' || n, now()
    from generate_series(1, ${turns}::int) n`;
  await sql`
    insert into messages (session_id, seq, id, role, turn_id, content)
    select 'ss_' || n, place, case place when 2 then 'msg_' else 'asked_' end || n, case place when 2 then 'assistant' else 'user' end,
      'turn_' || lpad(n::text, 24, '0'), json_build_object('text', repeat('x', 200))
    from generate_series(1, ${turns}::int) n cross join generate_series(1, 2) place`;
  await sql`analyze turns, messages`;
}

const sent: SentStatement[] = [];
const watched = postgres(h.databaseUrl, {
  max: 1,
  transform: { column: { from: postgres.toCamel } },
  debug: (_connection, text, parameters) => void sent.push({ text, parameters }),
}) as unknown as Sql;
afterAll(() => watched.end());

test("the ends of several turns are found by their keys, each with its message", async () => {
  const ids = Array.from({ length: asked }, (_, place) => idOf(place + 1));
  const ends = await endsOfTurns(watched, [...ids, idOf(turns + 1)], 1024);
  const found = ends.map(({ turnId, status, message }) => `${turnId} ${status} ${JSON.stringify(message)}`);
  const text = JSON.stringify({ text: "x".repeat(200) });
  expect(found.sort()).toEqual(ids.map((turnId) => `${turnId} succeeded ${text}`));
  const plan = await keptPlan(sent.find(({ text }) => text.includes("log.end_of_many")) as SentStatement);
  expect(mostRead(plan, "turns")).toBeLessThan(2 * asked);
  expect(mostRead(plan, "messages")).toBeLessThan(2 * asked);
});

/** Returns the plan for any parameters: the one that is kept. */
async function keptPlan({ text, parameters }: SentStatement): Promise<Plan> {
  await watched`set plan_cache_mode = force_generic_plan`;
  await watched.unsafe(`prepare kept as ${text}`);
  const values = parameters.map((value) => `'${Array.isArray(value) ? `{${value.join(",")}}` : value}'`);
  const [row] = await watched.unsafe(`explain (analyze, format json) execute kept (${values.join(", ")})`);
  const [{ Plan: plan }] = (row as unknown as { "QUERY PLAN": [{ Plan: Plan }] })["QUERY PLAN"];
  return plan;
}
