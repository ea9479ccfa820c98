import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { eventually } from "../harness/eventually.ts";
import { startPostgres } from "../harness/postgres.ts";
import {
  aftermathOf,
  type Client,
  type JsonResponse,
  sharedRedisUrl,
  startInstallation,
} from "../harness/processes.ts";
import { expectFree, hasShown } from "../harness/turn-checks.ts";
import { mountSmallDisk } from "./small-disk.ts";

/** Room for a database and its log, and some to write. */
const diskMebibytes = 128;
/** A request that the disk has no room for is refused within this, on a busy machine. */
const refusedMs = 20_000;
/** So many turns at most until the disk refuses one: Postgres has some room in its files. */
const turnsMax = 400;
/** Once there is room again, Postgres and the service have recovered within this. */
const recoveredMs = 60_000;

const disk = sharedRedisUrl === null ? null : await mountSmallDisk(diskMebibytes);
if (disk === null)
  process.stderr.write("  disk: this account may not mount a tmpfs (or Redis is not installed); skipped\n");

describe.skipIf(disk === null)("a database out of disk", () => {
  test("refuses with 503, writes nothing by halves, and goes on once there is room", async () => {
    await using small = disk!;
    await using postgres = await startPostgres(small.folder);
    await using installation = await startInstallation({ databaseUrl: postgres.url });
    const http = await installation.serve();
    const c = await installation.client(http.url);
    const worker = await installation.work();
    const before = await c.json('before [[sim: text="room enough"]]');
    expect(before.status).toBe(201);
    const running = await c.turn("running [[sim: chunks=400 delayMs=50 size=20000]]");
    await hasShown(running);

    await small.fill();
    const refused: { mark: string; response: JsonResponse }[] = [];
    const accepted: { mark: string; response: Promise<JsonResponse> }[] = [];
    for (let turn = 0; refused.length < 3; turn++) {
      if (turn > turnsMax) throw new Error(`After ${turnsMax} turns the disk still takes more.`);
      const mark = `full-${turn}`;
      const askedAt = Date.now();
      // Nothing that Postgres could make smaller.
      const response = c.json(`${mark} ${randomBytes(150_000).toString("base64")} [[sim: text="squeezed in"]]`);
      const settled = await Promise.race([response, until(refusedMs)]);
      if (settled?.status === 503 && settled.turnId === null) {
        expect(Date.now() - askedAt).toBeLessThan(refusedMs);
        refused.push({ mark, response: settled });
      } else accepted.push({ mark, response });
    }
    process.stderr.write(`  disk: full after ${accepted.length} turns\n`);
    for (const { response } of refused) {
      expect(response.body.error).toMatchObject({ code: "service_unavailable", requestId: expect.any(String) });
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect((await fetch(`${http.url}/healthz`)).status).toBe(200);

    await small.empty();
    // A Postgres that had no room for its log ends; its operator starts it again.
    await eventually(
      () => responses(installation.sql).then((well) => well || postgres.restart().then(() => false)),
      recoveredMs,
    );
    await eventually(async () => (await fetch(`${http.url}/readyz`)).status === 200, recoveredMs);
    await eventually(async () => (await c.json('[[sim: text="again"]]')).status === 201, recoveredMs);

    await running.stream.closed;
    expect(running.stream.finished).toBe(true);
    for (const { response } of accepted) {
      const { status, turnId, body } = await response;
      if (turnId === null) throw new Error(`${status} ${JSON.stringify(body)}`);
      expect(["succeeded", "failed"]).toContain((await aftermathOf(installation.sql, turnId)).status);
    }
    await eventually(async () => (await unfinished(installation.sql)) === 0, recoveredMs);
    const halves = await installation.sql`
      select t.id, t.status, u.rows as usage, m.rows as messages from turns t,
        lateral (select count(*)::int as rows from usage where turn_id = t.id) u,
        lateral (select count(*)::int as rows from messages where turn_id = t.id) m
      where u.rows <> 1 or m.rows <> case t.status when 'succeeded' then 2 else 0 end`;
    expect([...halves]).toEqual([]);
    for (const { mark } of refused)
      expect(await installation.sql`select 1 from turns where input::text like ${`%${mark} %`}`).toHaveLength(0);
    expect(
      await installation.sql`select 1 from sessions s where not exists (select 1 from turns t where t.session_id = s.id)`,
    ).toHaveLength(0);
    await expectAllFree(c, installation.sql);
    expect([...http.log, ...worker.log].filter(({ msg }) => /unforeseen/.test(msg))).toEqual([]);
  }, 400_000);
});

type Sql = Awaited<ReturnType<typeof startInstallation>>["sql"];

async function responses(sql: Sql): Promise<boolean> {
  return sql`select 1`.then(
    () => true,
    () => false,
  );
}

async function unfinished(sql: Sql): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select (select count(*) from turns where status in ('queued', 'running'))::int
      + (select count(*) from graphile_worker._private_jobs)::int as n`;
  return row?.n ?? 0;
}

/** The last sessions take another turn. */
async function expectAllFree(c: Client, sql: Sql): Promise<void> {
  const sessions = await sql<{ id: string }[]>`select id from sessions order by created_at desc limit 5`;
  for (const { id } of sessions) await expectFree(c, id);
}

function until(ms: number): Promise<null> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms, null).unref();
  });
}
