import { expect, test } from "bun:test";
import postgres from "postgres";
import { addJobSql, announceJobsSql, newJobsSql } from "../../../src/kernel/queue/add-job.ts";
import { eventually } from "../../harness/eventually.ts";
import { useService } from "../../harness/fixture.ts";

// No worker runs, so the jobs stay.
const h = await useService();
const fields = { turnId: h.sql`id`, lockKey: h.sql`'lock ' || id`, tenantId: h.sql`'ten'` };

/** The jobs of these keys, without what differs between any two. */
async function jobs(keys: readonly string[]) {
  const rows = await h.sql<{ row: Record<string, unknown> }[]>`
    select to_jsonb(j) - '{id, created_at, updated_at, run_at}'::text[] || jsonb_build_object('due', run_at <= now()) as row
    from graphile_worker._private_jobs j where key = any(${keys as string[]}) order by key`;
  return rows.map(({ row }) => JSON.parse(JSON.stringify(row).replaceAll(String(row.key), "the key")));
}

test("a job that is inserted is the one that the queue's own function makes, and nothing is inserted of a kind that the queue does not know", async () => {
  const insert = (ids: readonly string[]) =>
    h.sql`with made as (${newJobsSql(h.sql, "turn", fields, h.sql`unnest(${ids as string[]}::text[]) asked (id)`)} returning key) select * from made`;
  expect(await insert(["too early"])).toHaveLength(0);
  await h.sql`select (${addJobSql(h.sql, "turn", fields)}).id from unnest(${["by function"]}::text[]) asked (id)`;
  expect(await insert(["first", "second"])).toHaveLength(2);
  const [own, ...inserted] = [...(await jobs(["by function"])), ...(await jobs(["first", "second"]))];
  expect(own).toMatchObject({ key: "the key", due: true, attempts: 0, max_attempts: 5 });
  expect(inserted).toEqual([own, own]);
});

test("jobs of one statement are announced once, with their number", async () => {
  const listener = postgres(h.databaseUrl, { max: 1 });
  const heard: string[] = [];
  await listener.listen("jobs:insert", (payload) => heard.push(payload));
  await h.sql`select ${announceJobsSql(h.sql, h.sql`count(*) over ()`)} from generate_series(1, 3)`;
  await h.sql`notify "jobs:insert", 'last'`;
  await eventually(() => heard.includes("last"));
  expect(heard.map((payload) => (payload === "last" ? payload : JSON.parse(payload)))).toEqual([{ count: 3 }, "last"]);
  await listener.end();
});
