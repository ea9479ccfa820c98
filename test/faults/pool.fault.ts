import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import { eventually } from "../harness/eventually.ts";
import { startPostgres, type TestPostgres } from "../harness/postgres.ts";
import {
  aftermathOf,
  type Client,
  type Installation,
  sharedRedisUrl,
  startInstallation,
} from "../harness/processes.ts";
import type { ServeProcess, WorkProcess } from "../harness/service-process.ts";
import { expectFree, expectWhole, hasShown } from "../harness/turn-checks.ts";

/** A request that gets no connection is refused within this, on a busy machine. */
const refusedMs = 20_000;
/** With connections again, everything works within this. */
const recoveredMs = 30_000;
/** More than all pools of an HTTP process have connections. */
const crowd = 300;
const ranOnce = { status: "succeeded", attempt: 1, metered: 1, messages: 2 };
const testMs = 180_000;

describe.skipIf(sharedRedisUrl === null)("connections to Postgres", () => {
  let server: TestPostgres;
  let installation: Installation;
  let http: ServeProcess;
  let worker: WorkProcess;
  let c: Client;
  beforeAll(async () => {
    server = await startPostgres();
    installation = await startInstallation({ databaseUrl: server.url });
    http = await installation.serve();
    c = await installation.client(http.url);
    worker = await installation.work();
  }, testMs);
  afterAll(async () => {
    const unforeseen = [...(http?.log ?? []), ...(worker?.log ?? [])].filter(({ msg }) => /unforeseen/.test(msg));
    await installation?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
    expect(unforeseen).toEqual([]);
  }, testMs);

  test(
    `fewer than requests, ${crowd} at once: all get a response, and nothing waits without a limit`,
    async () => {
      const reads = Array.from({ length: crowd }, async () => {
        const response = await c.request("GET", "/v1/agents");
        await response.text();
        return response.status;
      });
      const turns = Array.from({ length: crowd / 3 }, () => c.json('[[sim: text="one of many"]]'));
      const statuses = [...(await Promise.all(reads)), ...(await Promise.all(turns)).map(({ status }) => status)];
      expect(statuses.filter((status) => ![200, 201, 503].includes(status))).toEqual([]);
      expect(statuses.filter((status) => status < 300).length).toBeGreaterThan(crowd / 2);
      expect((await c.json('[[sim: text="after all"]]')).status).toBe(201);
    },
    testMs,
  );

  test(
    "all taken by somebody else: 503 in bounded time, running turns go on, and everything recovers",
    async () => {
      const turn = await c.turn("running [[sim: chunks=200 delayMs=50]]");
      await hasShown(turn);
      const thief = await takeAll(server.url);
      try {
        const askedAt = Date.now();
        const [post, get] = await Promise.all([c.json("none-left"), c.request("GET", "/v1/agents")]);
        process.stderr.write(`  connections: refused after ${Date.now() - askedAt} ms\n`);
        expect(Date.now() - askedAt).toBeLessThan(refusedMs);
        expect([post.status, post.body.error.code, get.status]).toEqual([503, "service_unavailable", 503]);
        expect(Number(post.headers.get("retry-after"))).toBeGreaterThan(0);
        expect((await fetch(`${http.url}/healthz`)).status).toBe(200);
        expect(await (await fetch(`${http.url}/readyz`)).json()).toMatchObject({ checks: { database: "unavailable" } });
      } finally {
        await thief.release();
      }
      await eventually(async () => (await fetch(`${http.url}/readyz`)).status === 200, recoveredMs);
      await eventually(async () => (await c.json('[[sim: text="again"]]')).status === 201, recoveredMs);
      await turn.stream.closed;
      expectWhole(turn);
      expect(await aftermathOf(installation.sql, turn.turnId)).toEqual(ranOnce);
      expect(await installation.sql`select 1 from turns where input::text like '%none-left%'`).toHaveLength(0);
      await expectFree(c, turn.sessionId);
    },
    testMs,
  );
});

/** Takes every connection that the server gives, and ends those of the service until it has none. */
async function takeAll(url: string): Promise<{ release(): Promise<void> }> {
  const held: postgres.Sql[] = [];
  const take = async () => {
    for (;;) {
      const one = postgres(url, { max: 1, onnotice: () => {}, connection: { application_name: "thief" } });
      try {
        await one`select 1`;
        held.push(one);
      } catch {
        await one.end({ timeout: 0 });
        return;
      }
    }
  };
  await take();
  await eventually(async () => {
    const [first] = held;
    if (first === undefined) throw new Error("Not one connection was to be had.");
    const ended = await first`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name <> 'thief' and pid <> pg_backend_pid()`;
    await take();
    return ended.length === 0;
  }, 60_000);
  return { release: async () => void (await Promise.all(held.map((one) => one.end({ timeout: 1 })))) };
}
