import { fullGC, heapSize } from "bun:jsc";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import process from "node:process";
import { Redis } from "ioredis";
import { RedisRelay } from "../../../src/kernel/relay/redis.ts";
import {
  type Batch,
  type LogKey,
  relayEndWaitMs,
  relayGroupMax,
  relayPingTimeoutMs,
} from "../../../src/kernel/relay/relay.ts";
import { RelayWriter } from "../../../src/kernel/relay/writer.ts";
import { findRedisServer, type RedisServer, startRedis } from "../../harness/redis.ts";
import { batchOf, chunkOf, newKey, read, readThroughLosses, until } from "../../harness/relay-reading.ts";

describe.skipIf(findRedisServer() === null)("relay on a Redis with faults", () => {
  let server: RedisServer;
  let worker: RedisRelay;
  let reader: RedisRelay;
  let admin: Redis;

  beforeAll(async () => {
    server = await startRedis();
    worker = new RedisRelay({ url: server.url });
    reader = new RedisRelay({ url: server.url, lostGraceMs: 1_000 });
    admin = new Redis(server.url);
    admin.on("error", () => {});
  });
  afterAll(async () => {
    admin.disconnect();
    await Promise.all([worker.close(), reader.close()]);
    await server.stop();
  });

  const channelsOf = async () => (await admin.pubsub("CHANNELS", "*")) as string[];
  const connections = async () =>
    String(await admin.client("LIST"))
      .trim()
      .split("\n").length;
  /** Both relays are connected again, subscriptions included. */
  const recovered = () =>
    until(async () => {
      const key = newKey();
      const appended = await worker.end(key, batchOf(key, 1, 1)).catch(() => "away");
      return appended === "ok" && (await read(reader, key).done).ending === "end";
    });

  test("keys are hash-tagged by turn and every key expires", async () => {
    await admin.flushall();
    const keys = [newKey(), newKey(), newKey(), newKey()];
    await worker.append(keys[0]!, batchOf(keys[0]!, 1, 1));
    await worker.end(keys[1]!, batchOf(keys[1]!, 1, 1));
    await worker.seal(keys[2]!);
    await worker.touch(keys[3]!);
    const names = (await admin.keys("*")).sort();
    expect(names).toEqual(keys.slice(0, 3).map((key) => `parley:{${key.logId}}:1`));
    for (const name of names) expect(await admin.pttl(name)).toBeWithin(250_000, 300_001);
  });

  test("chunks that come before their group is sent share an entry", async () => {
    const key = newKey();
    const writer = new RelayWriter(worker, key);
    for (let number = 1; number <= 20; number++) {
      writer.write(chunkOf(number));
      // A model's stream goes on in promises, several for each chunk.
      for (let step = 0; step < 5; step++) await Promise.resolve();
    }
    await writer.flush();
    expect(await admin.xlen(`parley:{${key.logId}}:1`)).toBe(1);
    await writer.end([]);
    expect((await read(reader, key).done).text).toBe(batchOf(key, 1, 20).sse);
  });

  test("a log takes no more memory than its bound, however long it becomes", async () => {
    const relay = new RedisRelay({ url: server.url, logBytesMax: 1024 * 1024 });
    const key = newKey();
    let most = 0;
    for (let first = 1; first <= 10_000; first += 100) {
      await relay.append(key, batchOf(key, first, first + 99, 1_000));
      most = Math.max(most, Number(await admin.memory("USAGE", `parley:{${key.logId}}:1`, "SAMPLES", 0)));
    }
    await relay.close();
    expect(most).toBeWithin(900_000, 1.5 * 1024 * 1024);
  });

  test("appends of many logs share commands, each with a result of its own", async () => {
    const keys = Array.from({ length: 2 * relayGroupMax }, newKey);
    const [first, poisoned, sealed, short] = keys as [LogKey, LogKey, LogKey, LogKey];
    await admin.set(`parley:{${poisoned.logId}}:1`, "not a stream");
    await worker.seal(sealed);
    await admin.config("RESETSTAT");
    const responses = await Promise.all(
      keys.map((key) =>
        worker.append(key, batchOf(key, key === short ? 5 : 1, 1)).catch((error: Error) => error.message),
      ),
    );
    expect(responses[0]).toBe("ok");
    expect(responses[1]).toContain("WRONGTYPE");
    expect(responses.slice(2)).toEqual(["sealed", "lost", ...keys.slice(4).map(() => "ok")]);
    expect(await admin.xlen(`parley:{${first.logId}}:1`)).toBe(1);
    const calls = /cmdstat_evalsha:calls=(\d+)/.exec(await admin.info("commandstats"))?.[1];
    expect(Number(calls)).toBeWithin(1, keys.length / relayGroupMax + 2);
  });

  test("Redis itself refuses what comes after a seal or an end", async () => {
    const [sealed, ended] = [newKey(), newKey()];
    for (const key of [sealed, ended]) await worker.append(key, batchOf(key, 1, 1));
    await worker.seal(sealed);
    await worker.end(ended, null);
    for (const key of [sealed, ended]) {
      const adding = admin.xadd(`parley:{${key.logId}}:1`, "2-1", "sse", "x");
      await expect(adding).rejects.toThrow(/equal or smaller|exhausted/);
    }
  });

  test("scripts survive SCRIPT FLUSH", async () => {
    const key = newKey();
    await worker.append(key, batchOf(key, 1, 1));
    await admin.script("FLUSH");
    expect(await worker.append(key, batchOf(key, 2, 2))).toBe("ok");
    await admin.script("FLUSH");
    expect(await worker.seal(key)).toBe("shown");
  });

  test("1,000 idle followers use two connections, and all hear of their log's next event", async () => {
    const before = await connections();
    const relay = new RedisRelay({ url: server.url });
    const crowd = newKey();
    const keys = [...Array.from({ length: 800 }, newKey), ...Array.from({ length: 200 }, () => crowd)];
    const readings = keys.map((key) => read(relay, key));
    await until(async () => (await channelsOf()).length === 801);
    await Promise.all([...new Set(keys)].map((key) => worker.append(key, batchOf(key, 1, 1))));
    await until(() => readings.every((reading) => reading.last === 1));
    expect((await connections()) - before).toBe(2);
    for (const reading of readings) reading.abort();
    await until(async () => (await channelsOf()).length === 0);
    await relay.close();
    await until(async () => (await connections()) === before);
  });

  test("subscriptions survive churn and none is left over", async () => {
    const key = newKey();
    let first = 1;
    for (let round = 0; round < 300; round++) {
      const leaving = Array.from({ length: 1 + (round % 3) }, () => read(reader, key));
      if (round % 2 === 0) await worker.append(key, batchOf(key, first, first++));
      for (const reading of leaving) reading.abort();
      const staying = round % 50 === 49 ? read(reader, key) : null;
      if (staying === null) continue;
      await until(() => staying.last === first - 1);
      await worker.append(key, batchOf(key, first, first++));
      await until(() => staying.last === first - 1);
      staying.abort();
    }
    await until(async () => (await channelsOf()).length === 0);
  });

  test("a reader that does not pull keeps nothing of what is published", async () => {
    const key = newKey();
    const stalled = Array.from({ length: 20 }, () =>
      reader.follow(key, 1, AbortSignal.timeout(20_000))[Symbol.asyncIterator](),
    );
    await worker.append(key, batchOf(key, 1, 1));
    for (const steps of stalled) await steps.next();
    fullGC();
    const before = heapSize();
    for (let first = 2; first < 1_000; first++) await worker.append(key, batchOf(key, first, first, 60_000));
    fullGC();
    expect(heapSize() - before).toBeLessThan(10 * 1024 * 1024);
    for (const steps of stalled) await steps.return?.();
  });

  test("a log that vanished is written again: a live follower and a new one see the whole", async () => {
    const key = newKey();
    const writer = new RelayWriter(worker, key, { batchBytesMax: 500 });
    const live = read(reader, key);
    const whole = batchOf(key, 1, 400).sse;
    for (let number = 1; number <= 400; number++) {
      await writer.write(chunkOf(number));
      if (number % 10 === 0) await writer.flush();
      if (number % 100 === 50) await admin.flushall();
    }
    expect(await writer.end([])).toBe("ok");
    await live.done;
    const rest = live.ending === "lost" ? (await read(reader, key, live.last + 1).done).text : "";
    expect(live.text + rest === whole).toBe(true);
    expect((await read(reader, key).done).text === whole).toBe(true);
  });

  test("a quiet writer restores a log that vanished", async () => {
    const key = newKey();
    const writer = new RelayWriter(worker, key, { probeMs: 20 });
    for (let number = 1; number <= 9; number++) writer.write(chunkOf(number));
    await writer.flush();
    await admin.flushall();
    const late = read(reader, key);
    await until(() => late.last === 9);
    await writer.end([]);
    expect((await late.done).ending).toBe("end");
  });

  test.each([
    ["within its bound is written again", 100, "ok"],
    ["beyond it is given up", 2_000, "away"],
  ])("a log that vanished %s", async (_what, chars, result) => {
    const key = newKey();
    const writer = new RelayWriter(worker, key, { keptBytesMax: 10_000 });
    for (let number = 1; number <= 10; number++) {
      await writer.write(chunkOf(number, chars));
      await writer.flush();
    }
    await admin.flushall();
    await writer.write(chunkOf(11, chars));
    await writer.flush();
    expect(await writer.end([chunkOf(12, chars)])).toBe(result as "ok" | "away");
    if (result === "ok") expect((await read(reader, key).done).text === batchOf(key, 1, 12, chars).sse).toBe(true);
    else expect(writer.written).toBe(11);
  });

  test("a dropped subscriber connection costs a follower nothing", async () => {
    const key = newKey();
    const reading = read(reader, key);
    for (let first = 1; first <= 200; first++) {
      await worker.append(key, batchOf(key, first, first));
      if (first % 50 === 25) await admin.call("CLIENT", "KILL", "TYPE", "pubsub");
    }
    await until(() => reading.last === 200);
    await worker.end(key, null);
    expect(await reading.done).toMatchObject({ ending: "end", text: batchOf(key, 1, 200).sse });
  });

  test("an event that was published to nobody is found", async () => {
    const relay = new RedisRelay({ url: server.url, keepMs: 3_000, openKeepMs: 3_000 });
    const key = newKey();
    const reading = read(relay, key);
    await relay.append(key, batchOf(key, 1, 1));
    await until(() => reading.last === 1);
    await admin.xadd(`parley:{${key.logId}}:1`, "2-2", "sse", batchOf(key, 2, 3).sse);
    await until(() => reading.last === 3);
    await relay.close();
    expect((await reading.done).ending).toBe("lost");
  });

  test("a killed Redis: followers are lost promptly, the writer heals the log", async () => {
    const key = newKey();
    const writer = new RelayWriter(worker, key);
    const idle = Array.from({ length: 50 }, () => read(reader, newKey()));
    for (let number = 1; number <= 100; number++) writer.write(chunkOf(number));
    await writer.flush();
    const following = read(reader, key);
    const patient = readThroughLosses(reader, key);
    await until(() => following.last === 100);

    const killedAt = Date.now();
    await server.stop();
    for (const reading of [...idle, following]) expect((await reading.done).ending).toBe("lost");
    // They have a second's grace; a check of the logs would come after 15.
    expect(Date.now() - killedAt).toBeLessThan(10_000);
    const askedAt = Date.now();
    expect((await read(reader, key).done).ending).toBe("lost");
    await expect(reader.ping()).rejects.toThrow();
    expect(Date.now() - askedAt).toBeLessThan(5 * relayPingTimeoutMs);

    for (let number = 101; number <= 200; number++) await writer.write(chunkOf(number, 50_000));
    await writer.flush();
    server = await startRedis(server.port);
    for (let number = 201; number <= 300; number++) await writer.write(chunkOf(number));
    await until(() => !writer.away);
    expect(await writer.end([chunkOf(301)])).toBe("ok");
    expect((await patient) === (await readThroughLosses(reader, key))).toBe(true);
    expect((await patient).split("\n\n").length - 1).toBe(301);
  });

  test("the end of a turn waits for a Redis that is away, but not long", async () => {
    await recovered();
    const writer = new RelayWriter(worker, newKey());
    writer.write(chunkOf(1));
    await writer.flush();
    await server.stop();
    const startedAt = Date.now();
    expect(await writer.end([chunkOf(2)])).toBe("away");
    expect(Date.now() - startedAt).toBeLessThan(5 * relayEndWaitMs);
    server = await startRedis(server.port);
    await recovered();
  });

  test("a frozen Redis is away: nothing hangs, and all goes on when it thaws", async () => {
    const key = newKey();
    const writer = new RelayWriter(worker, key);
    const reading = read(reader, key);
    writer.write(chunkOf(1));
    await until(() => reading.last === 1);
    process.kill(server.process.pid!, "SIGSTOP");
    try {
      for (let number = 2; number <= 100; number++) await writer.write(chunkOf(number, 20_000));
      // It says that nothing responds, or that the connection was given up for that already.
      await expect(reader.ping()).rejects.toThrow();
      expect((await reading.done).ending).toBe("lost");
      await writer.flush();
      expect(writer.away).toBe(true);
    } finally {
      process.kill(server.process.pid!, "SIGCONT");
    }
    const rest = readThroughLosses(reader, key);
    await until(() => !writer.away);
    expect(await writer.end([chunkOf(101)])).toBe("ok");
    const whole: Batch[] = [batchOf(key, 1, 1), batchOf(key, 2, 100, 20_000), batchOf(key, 101, 101)];
    expect((await rest) === whole.map((batch) => batch.sse).join("")).toBe(true);
  });
});
