import { afterAll, expect, test } from "bun:test";
import { startBareWorker } from "../../harness/bare-worker.ts";
import { useAgent } from "../../harness/fixture.ts";

const { h } = await useAgent();
const { connection } = await startBareWorker(h, { slots: 1 });
afterAll(() => connection.close());

test("a claim finds its job by its key, also by a plan that was made while the queue was empty", async () => {
  await h.sql.unsafe("vacuum analyze graphile_worker._private_jobs");
  const plan = await connection.sql<{ "QUERY PLAN": string }[]>`
    explain select id from graphile_worker._private_jobs where key = 'turn' and locked_at is null for update skip locked`;
  const text = plan.map((row) => Object.values(row).join(" ")).join("\n");
  expect(text).toContain("jobs_key_key");
  expect(text).not.toContain("Seq Scan");
});
