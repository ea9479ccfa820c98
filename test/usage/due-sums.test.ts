import { expect, test } from "bun:test";
import { DueSums } from "../../src/usage/due-sums.ts";
import { eventually } from "../harness/eventually.ts";
import { useAgent } from "../harness/fixture.ts";
import { play, script } from "../harness/turns.ts";

const { h, t, agentId } = await useAgent({ worker: true });

const unsummed = async () => {
  const [row] = await h.sql<{ rows: number; jobs: number }[]>`
    select (select count(*)::int from usage where not summed) as rows,
      (select count(*)::int from graphile_worker._private_jobs where key = 'usage.sum') as jobs`;
  return row;
};

test("turns are summed after so many of them, before the clock says so, and one job waits at most", async () => {
  for (let n = 0; n < 3; n++) await play(t, agentId, null, { message: script("text=fine"), stream: false });
  const due = new DueSums(h.ctx, 3);
  for (let n = 0; n < 9; n++) due.noteTurn();
  await eventually(async () => {
    const { rows, jobs } = (await unsummed()) ?? {};
    expect(jobs).toBeLessThanOrEqual(2);
    return rows === 0 && jobs === 0;
  });
});
