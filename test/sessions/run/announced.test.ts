import { describe, expect, test } from "bun:test";
import { newId } from "../../../src/kernel/ids.ts";
import { fallsTo } from "../../../src/kernel/queue/lot.ts";
import { useAgent } from "../../harness/fixture.ts";
import { eventually } from "../../harness/harness.ts";
import { userMessage } from "../../harness/seed.ts";

const { h, t, agentId } = await useAgent({ worker: true });

/** With a key, because this process is a worker too, and takes a turn without one while it is accepted. */
const ask = (text: string) =>
  t.call("POST", `/v1/agents/${agentId}/sessions`, {
    body: { message: userMessage(text), stream: false },
    headers: { "Idempotency-Key": crypto.randomUUID() },
  });

const jobs = () => h.sql`select 1 from graphile_worker._private_jobs j join turns t on t.id = j.key`;

describe("a queued turn that is announced", () => {
  test("is claimed without its job, which goes with the claim", async () => {
    const isWithoutJob = async () => {
      const asked = ask("[[sim: hangAfterChunks=0]]");
      const running = await eventually(async () => {
        const [turn] = await h.sql<{ sessionId: string }[]>`select session_id from turns where status = 'running'`;
        return turn;
      });
      const withJob = (await jobs()).length;
      await t.call("POST", `/v1/agents/${agentId}/sessions/${running.sessionId}/cancel`);
      expect((await asked).status).toBe(409);
      return withJob === 0;
    };
    // The queue looks every second by itself, and may fetch the job first now and then.
    while (!(await isWithoutJob()));
  });

  test("is run by its job where the worker that it falls to does not take it", async () => {
    // It is older than the worker of this test, seems to be alive, and takes nothing.
    const ghost = `${newId("worker").slice(0, 3)}${"0".repeat(24)}`;
    await h.sql`
      insert into workers (id, application_name, slots, beat_at)
      values (${ghost}, 'ghost', 1, now() + interval '1 hour')`;
    const fallen = async () => {
      expect((await ask("hello")).status).toBe(201);
      const rows = await h.sql<{ id: string }[]>`select id from turns where status = 'succeeded'`;
      return rows.some(({ id }) => fallsTo(id, { place: 0, workers: 2 }));
    };
    while (!(await fallen()));
    await h.sql`delete from workers where id = ${ghost}`;
    await eventually(async () => (await jobs()).length === 0);
  });

  test("falls to one of all workers, and to each of them now and then", () => {
    const taken = Array.from({ length: 8 }, () => 0);
    for (let n = 0; n < 2_000; n++) {
      const id = newId("turn");
      const places = taken.flatMap((_, place) => (fallsTo(id, { place, workers: 8 }) ? [place] : []));
      expect(places).toHaveLength(1);
      taken[places[0] as number] = (taken[places[0] as number] as number) + 1;
    }
    expect(Math.min(...taken)).toBeGreaterThan(100);
  });
});
