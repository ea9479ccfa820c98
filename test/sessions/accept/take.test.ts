import { afterAll, describe, expect, test } from "bun:test";
import { openDatabase } from "../../../src/kernel/database/client.ts";
import { startWorkerPool } from "../../../workers/main.ts";
import { openLink } from "../../faults/link.ts";
import { eventually } from "../../harness/eventually.ts";
import { useAgent } from "../../harness/fixture.ts";
import { holdLock } from "../../harness/hold-lock.ts";
import { conversationOf, open, play, script, sessionPath } from "../../harness/turns.ts";

const { h, t, agentId } = await useAgent();
const outside = openDatabase({ url: h.databaseUrl, max: 3, applicationName: "parley-test-outside" });
afterAll(() => outside.end());

// The lock connection leads over a link that can be disturbed; the pool does not.
const url = new URL(h.databaseUrl);
const link = await openLink(Number(url.port));
url.hostname = "127.0.0.1";
url.port = String(link.port);
const pool = await startWorkerPool(h.ctx, { databaseUrl: url.href });
afterAll(async () => {
  await pool.drain(0);
  await link[Symbol.asyncDispose]();
});

interface Row {
  readonly status: string;
  readonly attempt: number;
  readonly isTaken: boolean;
  readonly workerId: string | null;
  readonly jobs: number;
}

/** Of a turn: whether it was claimed by the statement that accepted it, among other things. */
async function rowOf(turnId: string): Promise<Row> {
  const [row] = await outside<Row[]>`
    select status, attempt, worker_id, coalesce(started_at = accepted_at and attempt = 1, false) as is_taken,
      (select count(*)::int from graphile_worker._private_jobs where key = t.id) as jobs
    from turns t where id = ${turnId}`;
  return row as Row;
}

/** The advisory locks of the worker's connection. */
const locks = () => outside`
  select 1 from pg_locks join pg_stat_activity using (pid)
  where locktype = 'advisory' and objsubid = 1 and application_name like 'parley-wk_%' and datname = current_database()`;

/** A statement that accepts turns waits for a lock: the worker's, or the pool's. */
const isWaiting = async (whose: "worker" | "pool") => {
  const rows = await outside`
    select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
      and query like '%/* turn.accept */%' and application_name like 'parley-wk_%' = ${whose === "worker"}`;
  return rows.length > 0;
};

/** No turn is written while this is held. */
const holdWrites = () => holdLock(outside, (inner) => inner`lock table turns in share mode`);

const ask = (text: string, sessionId: string | null = null) =>
  play(t, agentId, sessionId, { message: script(`text="${text}"`), stream: false });

describe("a turn that is accepted in a worker's process", () => {
  test("is claimed by the same statement, without a job", async () => {
    const live = await open(h, t, "POST", sessionPath(agentId, null), {
      body: { message: script("hangAfterChunks=1") },
    });
    await live.until("text-delta");
    expect(await rowOf(live.turnId)).toEqual({
      status: "running",
      attempt: 1,
      workerId: pool.id,
      isTaken: true,
      jobs: 0,
    });
    expect(await locks()).toHaveLength(1);
    await t.call("POST", sessionPath(agentId, live.sessionId, "/cancel"));
    await live.rest();
    await eventually(async () => (await locks()).length === 0);
  });

  test("has the transcript of its session, and the session's metadata", async () => {
    const first = await ask("one");
    expect((await rowOf(first.turnId)).isTaken).toBe(true);
    const message = script('text="two"');
    const second = await play(t, agentId, first.sessionId, { message, stream: false });
    expect([second.status, (await rowOf(second.turnId)).isTaken]).toEqual([200, true]);
    expect(conversationOf(h, message).filter(({ role }) => role !== "system")).toHaveLength(3);
  });

  test("is claimed with others at once, each with its own answer", async () => {
    const texts = Array.from({ length: 30 }, (_, n) => `answer ${n}`);
    const played = await Promise.all(texts.map((text) => ask(text)));
    expect(played.map(({ body }) => body.message.parts.at(-1)?.text)).toEqual(texts);
    const rows = await Promise.all(played.map(({ turnId }) => rowOf(turnId)));
    expect(rows.filter(({ isTaken }) => isTaken).length).toBeGreaterThan(0);
    expect(rows.every(({ status, jobs }) => status === "succeeded" && jobs === 0)).toBe(true);
  });

  test("is one of many for its session: the others are 409, and no lock stays", async () => {
    const { sessionId } = await ask("begin");
    for (let round = 0; round < 5; round++) {
      const statuses = (await Promise.all(Array.from({ length: 12 }, () => ask("again", sessionId)))).map(
        ({ status }) => status,
      );
      // One that comes when the first has ended is accepted too.
      expect(statuses).toContain(200);
      expect(statuses.every((status) => status === 200 || status === 409)).toBe(true);
    }
    await eventually(async () => (await locks()).length === 0);
  });

  test("has a job where another connection holds its session's lock", async () => {
    const { sessionId } = await ask("begin");
    const release = await holdLock(
      outside,
      (inner) => inner`select pg_advisory_xact_lock(hashtextextended(${sessionId}, 0))`,
    );
    const asked = ask("later", sessionId);
    await eventually(async () => {
      const [turn] = await outside`select 1 from turns where session_id = ${sessionId} and status = 'queued'`;
      return turn !== undefined;
    });
    await release();
    const { status, turnId } = await asked;
    expect([status, await rowOf(turnId)]).toMatchObject([200, { isTaken: false, status: "succeeded" }]);
  });

  test("waits for nothing on the worker's connection: the pool waits for it", async () => {
    const release = await holdWrites();
    const asked = ask("patient");
    await eventually(() => isWaiting("worker"));
    await eventually(() => isWaiting("pool"));
    await release();
    const { status, turnId } = await asked;
    expect([status, (await rowOf(turnId)).status]).toEqual([201, "succeeded"]);
    await eventually(async () => (await locks()).length === 0);
  });

  test("goes through the pool while the worker's connection is stuck", async () => {
    link.stall();
    const asked: ReturnType<typeof ask>[] = [];
    await eventually(async () => {
      asked.push(ask("past it"));
      const [turn] = await outside`select 1 from turns where input::text like '%past it%'`;
      return turn !== undefined;
    });
    link.heal();
    for (const { status } of await Promise.all(asked)) expect(status).toBe(201);
    await eventually(async () => (await locks()).length === 0);
  });

  test("is written and run once where the connection breaks before the statement is done", async () => {
    await ask("prepared");
    const release = await holdWrites();
    const asked = ask("cut off");
    await eventually(() => isWaiting("worker"));
    link.drop();
    await release();
    const { status, turnId } = await asked;
    expect([status, (await rowOf(turnId)).status]).toEqual([201, "succeeded"]);
    await eventually(async () => (await locks()).length === 0);
  });

  test("is claimed again where the connection breaks before anybody hears that it was claimed", async () => {
    // The connection knows the statement, so that it is sent in one go.
    await ask("prepared");
    const release = await holdWrites();
    const asked = ask("not heard");
    await eventually(() => isWaiting("worker"));
    link.mute();
    await release();
    await eventually(async () => {
      const [turn] = await outside`select 1 from turns where input::text like '%not heard%' and status = 'running'`;
      return turn !== undefined;
    });
    link.drop();
    link.heal();
    const { status, turnId } = await asked;
    expect([status, await rowOf(turnId)]).toMatchObject([201, { status: "succeeded", attempt: 2, jobs: 0 }]);
    await eventually(async () => (await locks()).length === 0);
  });
});
