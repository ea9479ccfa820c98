import { describe, expect, test } from "bun:test";
import { Redis } from "ioredis";
import postgres from "postgres";
import { openLink } from "../faults/link.ts";
import { freePort } from "../harness/free-port.ts";
import { eventually } from "../harness/harness.ts";
import { heldMark, holdModel, openEndedMark } from "../harness/held-model.ts";
import {
  aftermathOf,
  type Client,
  callsOf,
  sharedRedisUrl,
  startInstallation,
  type Turn,
  textOf,
} from "../harness/processes.ts";
import { type RedisServer, startRedis } from "../harness/redis.ts";
import { StreamReader } from "../harness/stream-reader.ts";
import { expectFree, expectWhole, hasShown, isClaimed } from "../harness/turn-checks.ts";
import { within } from "../harness/within.ts";

const succeeded = { status: "succeeded", attempt: 1, metered: 1, messages: 2 };

/** A request waits 10 s for Postgres, and some seconds for its turn on a busy machine; those that waited one after the other would take a multiple. */
const respondedMs = 20_000;
/** What takes a second or two, on a busy machine. */
const soonMs = 15_000;
/** More than any process has connections. */
const requests = 60;

describe.skipIf(sharedRedisUrl === null)("Redis", () => {
  test.concurrent("killed in the middle of turns and started empty: every turn commits, every stream ends", async () => {
    let redis = await startRedis();
    await using installation = await startInstallation({ redisUrl: redis.url });
    await using _ = disposing(() => redis);
    await using model = holdModel(installation.model);
    const c = await installation.client((await installation.serve()).url, model.url);
    await installation.work();
    const long = await c.turn(`long ${openEndedMark} [[sim: chunks=100 delayMs=50]]`);
    const quiet = await c.turn(`quiet ${heldMark} [[sim: text="after the outage"]]`);
    const json = c.json("json [[sim: chunks=60 delayMs=50]]");
    await hasShown(long);
    await redis.stop();
    await eventually(async () => (await stateOf(c)) === "degraded");
    redis = await startRedis(redis.port);
    await eventually(async () => (await stateOf(c)) === "ready");
    const joined = await c.join(long.sessionId);
    model.release();
    await Promise.all([long, quiet, joined].map(({ stream }) => stream.closed));
    for (const turn of [long, joined]) expectWhole(turn, textOf(joined.stream.chunks));
    expectWhole(quiet, "after the outage");
    expect((await json).status).toBe(201);
    for (const { turnId, sessionId } of [long, quiet]) {
      expect(await aftermathOf(installation.sql, turnId)).toEqual(succeeded);
      await expectFree(c, sessionId);
    }
    expect(callsOf(installation.model, "long ")).toBe(2); // Its own, and as the transcript of the turn after.
  }, 180_000);

  test.concurrent("down from the start: turns are accepted, answered, joined and cancelled", async () => {
    const port = await freePort();
    await using installation = await startInstallation({ redisUrl: `redis://127.0.0.1:${port}` });
    await using model = holdModel(installation.model);
    const c = await installation.client((await installation.serve()).url, model.url);
    await installation.work();
    const json = await within(soonMs, c.json('json [[sim: text="without Redis"]]'));
    expect(json.status).toBe(201);
    expect(json.body.message.parts.at(-1).text).toBe("without Redis");

    const stream = await c.turn('stream [[sim: text="stored answer" chunks=3 delayMs=300]]');
    await within(soonMs, stream.stream.closed);
    expectWhole(stream, "stored answer");
    expect(await aftermathOf(installation.sql, stream.turnId)).toEqual(succeeded);

    const running = await c.turn(`running ${heldMark}`);
    await isClaimed(installation, running.turnId);
    const joined = await within(soonMs, c.join(running.sessionId));
    model.release();
    await within(soonMs, Promise.all([running.stream.closed, joined.stream.closed]));
    for (const turn of [running, joined]) expectWhole(turn);
    const idle = await c.request("GET", `/v1/agents/${c.agentId}/sessions/${running.sessionId}/stream`);
    expect(idle.status).toBe(204);

    const canceled = await c.turn("canceled [[sim: hangAfterChunks=1]]");
    await eventually(() => callsOf(installation.model, "canceled") === 1);
    const path = `/v1/agents/${c.agentId}/sessions/${canceled.sessionId}/cancel`;
    expect((await within(soonMs, c.request("POST", path))).status).toBe(202);
    await within(soonMs, canceled.stream.closed);
    expect(canceled.stream.types.at(-1)).toBe("abort");
    expect(await aftermathOf(installation.sql, canceled.turnId)).toEqual({
      ...succeeded,
      status: "canceled",
      messages: 0,
    });
    await expectFree(c, canceled.sessionId);
  }, 180_000);

  test.concurrent("frozen in the middle of turns: the worker goes on, streams end when it has", async () => {
    const redis = await startRedis();
    await using installation = await startInstallation({ redisUrl: redis.url });
    await using _ = disposing(() => redis);
    const c = await installation.client((await installation.serve()).url);
    await installation.work();
    const turns = [await c.turn("one [[sim: chunks=40 delayMs=50]]"), await c.turn("two [[sim: firstDelayMs=2000]]")];
    await hasShown(turns[0]!);
    redis.process.kill("SIGSTOP");
    await within(2 * soonMs, Promise.all(turns.map(({ stream }) => stream.closed)));
    for (const turn of turns) {
      expectWhole(turn);
      expect(await aftermathOf(installation.sql, turn.turnId)).toEqual(succeeded);
    }
    const json = await within(soonMs, c.json('[[sim: text="meanwhile"]]'));
    expect(json.status).toBe(201);
    redis.process.kill("SIGCONT");
    const after = await c.turn("after [[sim: chunks=5 delayMs=20]]");
    await within(soonMs, after.stream.closed);
    expectWhole(after);
  }, 180_000);
});

describe.skipIf(sharedRedisUrl === null)("readers outlive Redis", () => {
  test.concurrent("it is gone for good in the middle of turns: readers get the rest of the stored answers", async () => {
    const redis = await startRedis();
    await using installation = await startInstallation({ redisUrl: redis.url });
    await using _ = disposing(() => redis);
    const c = await installation.client((await installation.serve()).url);
    await installation.work();
    const turns = await Promise.all([1, 2, 3].map((n) => c.turn(`gone-${n} [[sim: chunks=60 delayMs=50]]`)));
    await Promise.all(turns.map(hasShown));
    await redis.stop();
    await within(2 * soonMs, Promise.all(turns.map(({ stream }) => stream.closed)));
    for (const turn of turns) expectWhole(turn, await storedText(c, turn));
  }, 180_000);

  test.concurrent("it is away for 10 s: who comes back with an event's number waits, and gets what follows that", async () => {
    const redis = await startRedis();
    await using installation = await startInstallation({ redisUrl: redis.url });
    let current = redis;
    await using _ = disposing(() => current);
    await using model = holdModel(installation.model);
    const c = await installation.client((await installation.serve()).url, model.url);
    await installation.work();
    const turn = await c.turn(`back ${openEndedMark} [[sim: chunks=40 delayMs=50]]`);
    await hasShown(turn);
    const path = `/v1/agents/${c.agentId}/sessions/${turn.sessionId}/stream`;
    const back = async (at: number) => {
      const eventId = turn.stream.ids[at] as string;
      const response = await c.request("GET", path, undefined, { "last-event-id": eventId });
      return { after: at, stream: new StreamReader(response) };
    };
    await eventually(() => turn.stream.ids.length > 4);
    const before = await back(2);
    await eventually(() => before.stream.types.length > 0);
    await redis.stop();
    await eventually(async () => (await stateOf(c)) === "degraded");
    const during = await back(3);
    const stoppedAtMs = performance.now();
    model.release();
    await eventually(async () => (await aftermathOf(installation.sql, turn.turnId)).status === "succeeded", 60_000);
    await eventually(() => performance.now() - stoppedAtMs > 10_000, 60_000);
    expect([before.stream.finished, during.stream.finished]).toEqual([false, false]);
    current = await startRedis(redis.port);
    for (const { after, stream } of [before, during]) {
      await within(60_000, stream.closed);
      expect(stream.finished).toBe(true);
      expect(stream.types).not.toContain("error");
      expect(stream.types).not.toContain("start");
      expect(stream.types.at(-1)).toBe("finish");
      expect(stream.ids.map((id) => Number(id.split(":")[1]))).toEqual(
        stream.ids.map((_id, index) => after + 1 + index),
      );
    }
  }, 180_000);

  test.concurrent("it is gone for good: who came back with an event's number gets the whole stored answer, from its start", async () => {
    const redis = await startRedis();
    await using installation = await startInstallation({ redisUrl: redis.url });
    await using _ = disposing(() => redis);
    await using model = holdModel(installation.model);
    const c = await installation.client((await installation.serve()).url, model.url);
    await installation.work();
    const turn = await c.turn(`gone-back ${openEndedMark} [[sim: chunks=60 delayMs=50]]`);
    await hasShown(turn);
    const path = `/v1/agents/${c.agentId}/sessions/${turn.sessionId}/stream`;
    const response = await c.request("GET", path, undefined, { "last-event-id": turn.stream.ids[1] as string });
    const back = { ...turn, stream: new StreamReader(response) };
    await eventually(() => back.stream.types.length > 0);
    await redis.stop();
    // Not before: who has all of it by then needs no stored answer.
    model.release();
    await within(60_000, back.stream.closed);
    expect(back.stream.finished).toBe(true);
    expect(back.stream.types).not.toContain("error");
    const whole = back.stream.chunks.slice(back.stream.types.lastIndexOf("start"));
    expect(textOf(whole)).toBe(await storedText(c, turn));
  }, 180_000);

  test.concurrent("one HTTP process is cut from it: its readers get the same as those of another", async () => {
    const redis = await startRedis();
    await using installation = await startInstallation({ redisUrl: redis.url });
    await using _ = disposing(() => redis);
    await using link = await openLink(redis.port);
    const cut = await installation.client(
      (await installation.serve({ REDIS_URL: `redis://127.0.0.1:${link.port}` })).url,
    );
    const whole = cut.at((await installation.serve()).url);
    await installation.work();
    const turns = await Promise.all([1, 2].map((n) => cut.turn(`cut-${n} [[sim: chunks=80 delayMs=50]]`)));
    await Promise.all(turns.map(hasShown));
    const others = await Promise.all(turns.map(({ sessionId }) => whole.join(sessionId)));
    link.cut();
    await within(2 * soonMs, Promise.all([...turns, ...others].map(({ stream }) => stream.closed)));
    for (const [index, turn] of turns.entries()) {
      expectWhole(turn, await storedText(cut, turn));
      expectWhole(others[index]!, textOf(turn.stream.chunks));
    }
  }, 180_000);

  test.concurrent("it refuses writes: the process says so, and a turn takes little longer", async () => {
    const redis = await startRedis();
    await using installation = await startInstallation({ redisUrl: redis.url });
    await using _ = disposing(() => redis);
    const admin = new Redis(redis.url);
    const http = await installation.serve();
    const c = await installation.client(http.url);
    const worker = await installation.work({ METRICS_PORT: "0" });
    const tookMs = async () => {
      const sinceMs = performance.now();
      const turn = await c.turn('timed [[sim: text="a b c d" chunks=4 delayMs=100]]');
      await turn.stream.closed;
      expectWhole(turn, "a b c d");
      return performance.now() - sinceMs;
    };
    const medianOf = async () => {
      const times: number[] = [];
      for (let turn = 0; turn < 7; turn++) times.push(await tookMs());
      return times.sort((a, b) => a - b)[3] ?? Number.NaN;
    };
    await tookMs();
    let tries = 0;
    // Both are measured anew where another program took the machine for one of them alone.
    await eventually(async () => {
      tries += 1;
      await admin.config("SET", "maxmemory", "0");
      await eventually(async () => (await stateOf(c)) === "ready");
      const healthyMs = await medianOf();
      await admin.config("SET", "maxmemory", "1");
      const refusedMs = await medianOf();
      process.stderr.write(`  a turn: ${Math.round(healthyMs)} ms, refused ${Math.round(refusedMs)} ms\n`);
      // Less than the second after which a process asks by itself how its turns are.
      return refusedMs - healthyMs < 600;
    }, 60_000);
    await eventually(async () => (await stateOf(c)) === "degraded");
    const metrics = `http://127.0.0.1:${worker.log.find(({ msg }) => msg === "working")?.metrics}/metrics`;
    const counted = /parley_relay_errors_total\{reason="refused"\} (\d+)/.exec(await (await fetch(metrics)).text());
    expect(Number(counted?.[1])).toBeGreaterThanOrEqual(7);
    expect(worker.log.filter(({ msg }) => msg.startsWith("the Redis of REDIS_URL fails")).length).toBeWithin(1, 100);
    expect(
      worker.log.filter(({ msg, level }) => msg.startsWith("the Redis of REDIS_URL fails") && level === "warn").length,
    ).toBeWithin(1, tries + 1);
    await admin.config("SET", "maxmemory", "0");
    await eventually(async () => (await stateOf(c)) === "ready");
    admin.disconnect();
  }, 180_000);
});

/** The text of a turn's answer in its transcript. */
async function storedText(c: Client, { sessionId }: Turn): Promise<string> {
  const response = await c.request("GET", `/v1/agents/${c.agentId}/sessions/${sessionId}/messages`);
  const { data } = (await response.json()) as { data: { role: string; parts: { type: string; text?: string }[] }[] };
  const answer = data.find(({ role }) => role === "assistant");
  return (answer?.parts ?? []).map(({ type, text = "" }) => (type === "text" ? text : "")).join("");
}

describe.skipIf(sharedRedisUrl === null)("a transaction that locks others out", () => {
  test.concurrent("503 service_unavailable: the pool is exhausted, in bounded time; health responds, running turns and everything else recover", async () => {
    await using installation = await startInstallation();
    const http = await installation.serve();
    const c = await installation.client(http.url);
    await installation.work();
    const running = await c.turn("running [[sim: chunks=100 delayMs=60]]");
    await hasShown(running);
    const blocker = await lockOut(installation.databaseUrl, ["agents", "turns"]);
    const startedAt = Date.now();
    const waiting = Array.from({ length: requests }, () => read(c));
    const post = c.json("locked-out");
    expect((await fetch(`${http.url}/healthz`)).status).toBe(200);
    // The probe has a connection of its own: a tenant's slow statements do not take the process away from all others.
    await eventually(async () => (await fetch(`${http.url}/readyz`)).status === 200);
    const statuses = await Promise.all(waiting);
    const refused = await post;
    const tookMs = Date.now() - startedAt;
    process.stderr.write(`  exhaustion: ${requests} requests ended after ${tookMs} ms\n`);
    expect(tookMs).toBeLessThan(respondedMs);
    expect(new Set(statuses)).toEqual(new Set([503]));
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    await blocker.release();

    const recoveredAt = Date.now();
    expect(await read(c)).toBe(200);
    // The worker was locked out too, and a first turn may still find that.
    await eventually(async () => (await c.json('[[sim: text="again"]]')).status === 201);
    expect(Date.now() - recoveredAt).toBeLessThan(soonMs);
    expect(await installation.sql`select 1 from turns where input::text like '%locked-out%'`).toHaveLength(0);
    await running.stream.closed;
    expectWhole(running);
    const ranOnce = { status: "succeeded", attempt: 1, metered: 1, messages: 2 };
    expect(await aftermathOf(installation.sql, running.turnId)).toEqual(ranOnce);
  }, 180_000);
});

/** What a process says of itself; without its relay it is ready all the same. Null where its database did not respond within 2 s, as on a busy machine. */
async function stateOf(c: Client): Promise<string | null> {
  const response = await c.request("GET", "/readyz");
  if (response.status !== 200) return null;
  const { status, checks } = (await response.json()) as { status: string; checks: Record<string, string> };
  expect(checks).toEqual({ database: "ok", relay: status === "ready" ? "ok" : "unavailable" });
  return status;
}

function disposing(redis: () => RedisServer): AsyncDisposable {
  return { [Symbol.asyncDispose]: () => redis().stop() };
}

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
