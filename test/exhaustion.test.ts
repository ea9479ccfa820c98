import { describe, expect, test } from "bun:test";
import postgres from "postgres";
import { aftermathOf, type Client, sharedRedisUrl, startInstallation } from "./processes.ts";
import { expectWhole, hasShown } from "./turn-checks.ts";

/** A request waits this long for Postgres, and a little longer for its turn on a busy machine. */
const answeredMs = 13_000;
/** More than any process has connections. */
const requests = 60;

describe.skipIf(sharedRedisUrl === null)("a transaction that locks others out", () => {
  test.concurrent("exhausts the pool: 503 in bounded time, health answers, running turns and everything else recover", async () => {
    await using house = await startInstallation();
    const http = await house.serve();
    const c = await house.client(http.url);
    await house.work();
    const running = await c.turn("running [[sim: chunks=100 delayMs=60]]");
    await hasShown(running);
    const blocker = await lockOut(house.databaseUrl, ["agents", "turns"]);
    const startedAt = Date.now();
    const waiting = Array.from({ length: requests }, () => read(c));
    const post = c.json("locked-out");
    expect((await fetch(`${http.url}/healthz`)).status).toBe(200);
    const statuses = await Promise.all(waiting);
    const refused = await post;
    const tookMs = Date.now() - startedAt;
    process.stderr.write(`  exhaustion: ${requests} requests answered after ${tookMs} ms\n`);
    expect(tookMs).toBeLessThan(answeredMs);
    expect(new Set(statuses)).toEqual(new Set([503]));
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    await blocker.release();

    const recoveredAt = Date.now();
    expect(await read(c)).toBe(200);
    expect((await c.json('[[sim: text="again"]]')).status).toBe(201);
    expect(Date.now() - recoveredAt).toBeLessThan(3_000);
    expect(await house.sql`select 1 from turns where input::text like '%locked-out%'`).toHaveLength(0);
    await running.stream.closed;
    expectWhole(running);
    const ranOnce = { status: "succeeded", attempt: 1, metered: 1, messages: 2 };
    expect(await aftermathOf(house.sql, running.turnId)).toEqual(ranOnce);
  }, 60_000);
});

async function read(c: Client): Promise<number> {
  const response = await c.request("GET", "/v1/agents");
  await response.body?.cancel();
  return response.status;
}

/** Locks tables against everybody until it is released. */
async function lockOut(databaseUrl: string, tables: readonly string[]): Promise<{ release(): Promise<void> }> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  const locked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const held = sql.begin(async (tx) => {
    await tx.unsafe(`lock table ${tables.join(", ")} in access exclusive mode`);
    locked.resolve();
    await released.promise;
  });
  await locked.promise;
  return {
    release: async () => {
      released.resolve();
      await held;
      await sql.end();
    },
  };
}
