import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { MemoryRelay, type MemoryRelayOptions } from "../../../src/kernel/relay/memory.ts";
import { RedisRelay } from "../../../src/kernel/relay/redis.ts";
import type { Relay } from "../../../src/kernel/relay/relay.ts";
import { RelayWriter } from "../../../src/kernel/relay/writer.ts";
import { findRedisServer, startRedis } from "../../harness/redis.ts";
import { startCluster, startSentinels } from "../../harness/redis-groups.ts";
import { batchOf, chunkOf, newKey, type Reading, read, until } from "../../harness/relay-reading.ts";

type StoreOptions = Pick<MemoryRelayOptions, "keepMs" | "openKeepMs" | "logBytesMax">;

/** The store under test: `open` gives the relay of one more process. */
interface Store {
  open(options?: StoreOptions): Relay;
  close(): Promise<void>;
}

describe("relay in memory", () => {
  conformance(() => {
    const shared = new MemoryRelay();
    const relays: Relay[] = [shared];
    const open = (options?: StoreOptions) => {
      if (options === undefined) return shared;
      const relay = new MemoryRelay(options);
      relays.push(relay);
      return relay;
    };
    return Promise.resolve({ open, close: async () => void (await Promise.all(relays.map((relay) => relay.close()))) });
  });

  test("drops complete, unread logs when there are too many", async () => {
    const relay = new MemoryRelay({ charsMax: 10_000 });
    const keys = [newKey(), newKey(), newKey()];
    const reading = read(relay, keys[0]!);
    for (const key of keys) await relay.end(key, batchOf(key, 1, 10, 500));
    expect((await reading.done).ending).toBe("end");
    const running = newKey();
    await relay.append(running, batchOf(running, 1, 10, 500));
    expect(await relay.append(running, batchOf(running, 11, 20, 500))).toBe("ok");
    expect(await relay.seal(keys[0]!)).toBe("empty");
    expect((await read(relay, running, 20)).ending).toBeNull();
    await relay.close();
  });
});

const kinds = {
  "one Redis": startRedis,
  "the master of Sentinels": startSentinels,
  "a Redis Cluster": startCluster,
};

for (const [kind, startServers] of Object.entries(kinds)) {
  describe.skipIf(findRedisServer() === null)(`relay on ${kind}`, () => {
    conformance(async () => {
      const servers = await startServers();
      const relays: RedisRelay[] = [];
      const open = (options: StoreOptions = {}) => {
        const relay = new RedisRelay({ url: servers.url, ...options });
        relays.push(relay);
        return relay;
      };
      const close = async () => {
        await Promise.all(relays.map((relay) => relay.close()));
        await servers.stop();
      };
      await open().ping();
      return { open, close };
    });
  });
}

function conformance(start: () => Promise<Store>): void {
  let store: Store;
  let worker: Relay;
  let reader: Relay;
  beforeAll(async () => {
    store = await start();
    worker = store.open();
    reader = store.open();
    await Promise.all([worker.ping(), reader.ping()]);
  }, 400_000);
  afterAll(() => store.close());

  test("200 joins at random moments of a 2,000-chunk turn see identical bytes", async () => {
    const key = newKey();
    const writer = new RelayWriter(worker, key, { batchBytesMax: 2_000 });
    const readings: Reading[] = [];
    const joinAt = Array.from({ length: 200 }, () => Math.floor(Math.random() * 2_000)).sort((a, b) => a - b);
    for (let number = 1; number <= 2_000; number++) {
      while (joinAt[readings.length]! <= number) readings.push(read(reader, key));
      await writer.write(chunkOf(number));
      if (number % 7 === 0) await new Promise(setImmediate);
    }
    expect(await writer.end([])).toBe("ok");
    while (readings.length < 200) readings.push(read(reader, key));
    const whole = batchOf(key, 1, 2_000).sse;
    for (const reading of readings) {
      expect((await reading.done).ending).toBe("end");
      expect(reading.text === whole).toBe(true);
    }
  });

  test("a follower of a log that is called new sees all of it, new or not, growing or complete", async () => {
    const grown = newKey();
    await worker.append(grown, batchOf(grown, 1, 5));
    const late = read(reader, grown, 1, true);
    await until(() => late.last === 5);
    await worker.append(grown, batchOf(grown, 6, 8));
    await until(() => late.last === 8);
    await worker.end(grown, null);
    expect((await late.done).ending).toBe("end");
    expect((await read(reader, grown, 1, true).done).last).toBe(8);
  });

  test("followers that join while their new logs begin miss nothing", async () => {
    const readings = Array.from({ length: 100 }, async (_, index) => {
      const key = newKey();
      // The log's first appends and the subscription race; each log gives the one a little more of a start.
      const appended = worker.append(key, batchOf(key, 1, 2)).then(() => worker.append(key, batchOf(key, 3, 9)));
      for (let step = 0; step < index % 10; step++) await new Promise(setImmediate);
      const reading = read(reader, key, 1, true);
      await appended;
      await worker.end(key, batchOf(key, 10, 10));
      return reading.done;
    });
    for (const reading of await Promise.all(readings)) expect([reading.ending, reading.last]).toEqual(["end", 10]);
  });

  test("a batch that is made when it is sent is made once, and a log that has a part of it gets the rest", async () => {
    const key = newKey();
    await worker.append(key, batchOf(key, 1, 4));
    const made: ReturnType<typeof batchOf>[] = [];
    const outcome = worker.append(key, () => made[made.push(batchOf(key, 3, 9)) - 1]!);
    expect([await outcome, made.length]).toEqual(["ok", 1]);
    expect(await worker.end(key, null)).toBe("ok");
    expect((await read(reader, key).done).text).toBe(batchOf(key, 1, 9).sse);
  });

  test("a burst of 10,000 chunks keeps its order", async () => {
    const key = newKey();
    const writer = new RelayWriter(worker, key);
    const early = read(reader, key);
    for (let number = 1; number <= 10_000; number++) void writer.write(chunkOf(number));
    await writer.flush();
    expect(await writer.end([])).toBe("ok");
    await early.done;
    expect(early.text === batchOf(key, 1, 10_000).sse).toBe(true);
    expect((await read(reader, key).done).text === early.text).toBe(true);
  });

  test("a seal and appends race: what was returned is what stands", async () => {
    for (let round = 0; round < 200; round++) {
      const key = newKey();
      const append = async (number = 1): Promise<number> =>
        (await worker.append(key, batchOf(key, number, number))) === "ok" ? append(number + 1) : number - 1;
      const early = round % 2 === 0 ? append() : null;
      if (round % 4 === 0) await worker.ping();
      const sealing = reader.seal(key);
      const [sealed, shown] = await Promise.all([sealing, early ?? append()]);
      expect(sealed).toBe(shown === 0 ? "empty" : "shown");
      expect(await worker.append(key, batchOf(key, shown + 1, shown + 1))).toBe("sealed");
      expect(await worker.end(key, batchOf(key, shown + 1, shown + 1))).toBe("sealed");
      expect(await worker.end(key, null)).toBe("sealed");
      expect(await worker.seal(key)).toBe(sealed);
      expect(await read(reader, key).done).toMatchObject({ ending: "sealed", last: shown });
    }
  });

  test("a log goes over to a later claim: the earlier one is refused, and no follower notices", async () => {
    for (let held = 0; held < 40; held++) {
      const key = newKey();
      const waiting = read(reader, key);
      const append = async (number = 1): Promise<number> =>
        (await worker.append(key, batchOf(key, number, number))) === "ok" ? append(number + 1) : number - 1;
      const appending = held % 2 === 0 ? append() : null;
      if (held % 4 === 0) await worker.ping();
      const { tail, state } = await reader.fence(key, 2);
      expect(state).toBe("open");
      expect(await (appending ?? append())).toBe(tail);
      expect(await reader.fence(key, 2)).toEqual({ tail, state });
      // A claim that writes nothing, and one after it.
      for (const claim of [3, 5]) expect(await reader.fence(key, claim)).toEqual({ tail, state });
      expect(await reader.fence(key, 4)).toEqual({ tail, state });
      const late = Array.from({ length: tail + 1 }, (_, index) => read(reader, key, index + 1));
      for (const by of [key, { ...key, claim: 4 }]) {
        expect(await worker.append(by, batchOf(key, tail + 1, tail + 1))).toBe("sealed");
        expect(await worker.append(by, batchOf(key, tail + 1, tail))).toBe("sealed");
        expect(await worker.end(by, batchOf(key, tail + 1, tail + 1))).toBe("sealed");
      }
      const writer = { ...key, claim: 5 };
      expect(await worker.append(writer, batchOf(key, tail + 1, tail + 3))).toBe("ok");
      expect(await worker.append(key, batchOf(key, tail + 4, tail + 4))).toBe("sealed");
      expect(await worker.append(writer, batchOf(key, tail + 4, tail + 4))).toBe("ok");
      expect(await worker.end(key, null)).toBe("sealed");
      expect(await worker.end(writer, batchOf(key, tail + 5, tail + 6))).toBe("ok");
      expect(await reader.fence(key, 6)).toEqual({ tail: tail + 6, state: "ended" });
      const whole = { ending: "end", last: tail + 6 } as const;
      expect(await waiting.done).toMatchObject({ ...whole, text: batchOf(key, 1, tail + 6).sse });
      for (const reading of late) expect(await reading.done).toMatchObject(whole);
    }
  });

  test("a sealed log does not go over to anybody", async () => {
    const key = newKey();
    await worker.append(key, batchOf(key, 1, 2));
    await worker.seal(key);
    expect(await worker.fence(key, 2)).toEqual({ tail: 2, state: "sealed" });
    expect(await worker.append({ ...key, claim: 2 }, batchOf(key, 3, 3))).toBe("sealed");
  });

  test("followers that wait hear of the seal after all events", async () => {
    const key = newKey();
    const waiting = read(reader, key);
    await worker.append(key, batchOf(key, 1, 2));
    await until(() => waiting.last === 2);
    await worker.append(key, batchOf(key, 3, 4));
    await worker.seal(key);
    expect(await waiting.done).toMatchObject({ ending: "sealed", last: 4 });
  });

  test("join after the end, and in the middle of a batch", async () => {
    const key = newKey();
    await worker.append(key, batchOf(key, 1, 5));
    await worker.append(key, batchOf(key, 6, 11));
    const early = Array.from({ length: 12 }, (_, index) => read(reader, key, index + 1));
    await until(() => early.every((reading) => reading.last === 11));
    await worker.end(key, batchOf(key, 12, 14));
    const late = Array.from({ length: 15 }, (_, index) => read(reader, key, index + 1));
    for (const [index, reading] of [...early, ...late].entries()) {
      await reading.done;
      const from = index < 12 ? index + 1 : index - 11;
      expect(reading).toMatchObject({ ending: "end", last: 14, text: batchOf(key, from, 14).sse });
    }
  });

  test("an ended log stays ended", async () => {
    const key = newKey();
    await worker.append(key, batchOf(key, 1, 2));
    expect(await worker.end(key, batchOf(key, 3, 4))).toBe("ok");
    expect(await worker.end(key, batchOf(key, 3, 4))).toBe("ok");
    expect(await worker.end(key, null)).toBe("ok");
    expect(await worker.end(key, batchOf(key, 5, 5))).toBe("sealed");
    expect(await worker.append(key, batchOf(key, 5, 5))).toBe("sealed");
    expect(await worker.seal(key)).toBe("ended");
    expect(await worker.seal(key)).toBe("ended");
    expect(await read(reader, key).done).toMatchObject({ ending: "end", last: 4 });
  });

  test("an erased log has no events, ends for its readers, and cannot be written anew", async () => {
    const [open, ended, missing] = [newKey(), newKey(), newKey()];
    await worker.append(open, batchOf(open, 1, 3));
    await worker.append(ended, batchOf(ended, 1, 3));
    await worker.end(ended, null);
    const waiting = read(reader, open);
    await until(() => waiting.last === 3);
    await worker.erase([open, ended, missing]);
    await worker.erase([open, ended, missing]);
    expect(await waiting.done).toMatchObject({ ending: "sealed", last: 3 });
    for (const key of [open, ended]) {
      expect(await read(reader, key).done).toMatchObject({ ending: "sealed", last: 0, text: "" });
      expect(await worker.append(key, batchOf(key, 1, 4))).toBe("sealed");
      expect(await worker.end(key, null)).toBe("sealed");
    }
    expect(await worker.append(missing, batchOf(missing, 1, 1))).toBe("ok");
  });

  test("a log of no events can end", async () => {
    const key = newKey();
    const waiting = read(reader, key);
    expect(await worker.end(key, null)).toBe("ok");
    expect(await waiting.done).toMatchObject({ ending: "end", last: 0 });
    expect(await read(reader, key).done).toMatchObject({ ending: "end", last: 0 });
  });

  test("appends are idempotent by number and refuse gaps", async () => {
    const key = newKey();
    expect(await worker.append(key, batchOf(key, 2, 3))).toBe("lost");
    expect(await worker.append(key, batchOf(key, 1, 0))).toBe("ok");
    expect(await worker.append(key, batchOf(key, 1, 3))).toBe("ok");
    expect(await worker.append(key, batchOf(key, 1, 3))).toBe("ok");
    expect(await worker.append(key, batchOf(key, 2, 5))).toBe("ok");
    expect(await worker.append(key, batchOf(key, 7, 7))).toBe("lost");
    expect(await worker.append(key, batchOf(key, 6, 5))).toBe("ok");
    expect(await worker.append(key, batchOf(key, 7, 6))).toBe("lost");
    expect(await worker.end(key, batchOf(key, 7, 6))).toBe("lost");
    expect(await worker.end(key, batchOf(key, 4, 6))).toBe("ok");
    expect(await read(reader, key).done).toMatchObject({ ending: "end", text: batchOf(key, 1, 6).sse });
  });

  test("a place the log does not reach is lost, an empty log is waited for", async () => {
    const key = newKey();
    const waiting = read(reader, key);
    expect((await read(reader, key, 2).done).ending).toBe("lost");
    await worker.append(key, batchOf(key, 1, 3));
    expect((await read(reader, key, 5).done).ending).toBe("lost");
    await until(() => waiting.last === 3);
    await worker.end(key, null);
    expect((await read(reader, key, 5).done).ending).toBe("lost");
    expect((await waiting.done).ending).toBe("end");
  });

  test("a slow reader gets everything", async () => {
    const key = newKey();
    const steps = reader.follow(key, 1, AbortSignal.timeout(20_000))[Symbol.asyncIterator]();
    const whole = batchOf(key, 1, 3_000, 2_000).sse;
    await worker.append(key, batchOf(key, 1, 10, 2_000));
    let text = "";
    for (let first = 11; first <= 3_000; first += 10) {
      await worker.append(key, batchOf(key, first, Math.min(first + 9, 3_000), 2_000));
      if (first % 500 !== 1) continue;
      const step = (await steps.next()).value;
      if (step?.type === "batch") text += step.batch.sse;
    }
    while (text.length < whole.length) {
      const step = (await steps.next()).value;
      expect(step?.type).toBe("batch");
      if (step?.type === "batch") text += step.batch.sse;
    }
    await worker.end(key, null);
    expect((await steps.next()).value).toEqual({ type: "end" });
    expect((await steps.next()).done).toBe(true);
    expect(text === whole).toBe(true);
  });

  test("an abort stops a follower at once", async () => {
    const key = newKey();
    const readings = [read(reader, key), read(reader, key)];
    await worker.append(key, batchOf(key, 1, 3));
    await until(() => readings.every((reading) => reading.last === 3));
    readings[0]!.abort();
    await until(() => readings[0]!.ending === "aborted", 10_000);
    await worker.end(key, batchOf(key, 4, 4));
    expect(await readings[1]!.done).toMatchObject({ ending: "end", last: 4 });
    expect(readings[0]!.last).toBe(3);
    expect(await Array.fromAsync(reader.follow(key, 1, AbortSignal.abort()))).toEqual([]);
  });

  test("logs expire, but not under a reader, nor when touched", async () => {
    const relay = store.open({ keepMs: 2_500, openKeepMs: 2_500 });
    const [unread, followed, touched] = [newKey(), newKey(), newKey()];
    await relay.end(unread, batchOf(unread, 1, 1));
    for (const key of [followed, touched]) await relay.append(key, batchOf(key, 1, 1));
    const reading = read(relay, followed);
    await until(() => reading.last === 1);
    await until(async () => {
      await relay.touch(touched);
      // An ended log refuses, which does not postpone its expiry; one that is gone lacks event 1.
      return (await relay.append(unread, batchOf(unread, 2, 2))) === "lost";
    });
    expect(await relay.append(touched, batchOf(touched, 2, 2))).toBe("ok");
    expect(await relay.end(followed, batchOf(followed, 2, 2))).toBe("ok");
    expect(await reading.done).toMatchObject({ ending: "end", last: 2 });
  });

  test("a log that has ended expires whoever looks at it; one that has not does not yet", async () => {
    const relay = store.open({ keepMs: 300 });
    const [ended, open] = [newKey(), newKey()];
    await relay.append(open, batchOf(open, 1, 1));
    await relay.end(ended, batchOf(ended, 1, 1));
    await until(async () => {
      await relay.touch(ended);
      read(relay, ended).abort();
      // An ended log refuses this, and one that is gone lacks event 1.
      return (await relay.append(ended, batchOf(ended, 2, 2))) === "lost";
    });
    expect(await relay.append(open, batchOf(open, 2, 2))).toBe("ok");
  });

  test("of a log that is too long the oldest events go: who follows goes on, who comes later has lost them", async () => {
    const relay = store.open({ logBytesMax: 50_000 });
    const key = newKey();
    const live = read(relay, key);
    const dawdling = relay.follow(key, 1, AbortSignal.timeout(20_000))[Symbol.asyncIterator]();
    for (let first = 1; first <= 1_000; first += 10) {
      await relay.append(key, batchOf(key, first, first + 9, 200));
      await until(() => live.last === first + 9);
      if (first === 1) expect((await dawdling.next()).value).toMatchObject({ type: "batch" });
    }
    expect((await read(relay, key).done).ending).toBe("lost");
    expect((await read(relay, key, 11).done).ending).toBe("lost");
    const late = read(relay, key, 900);
    await until(() => late.last === 1_000);
    // A writer that repeats itself, or checks, is told that all is well.
    expect(await relay.append(key, batchOf(key, 991, 1_000, 200))).toBe("ok");
    expect(await relay.append(key, batchOf(key, 1_001, 1_000))).toBe("ok");
    expect(await relay.end(key, batchOf(key, 1_001, 1_001))).toBe("ok");
    expect(await live.done).toMatchObject({ ending: "end", last: 1_001 });
    expect(await late.done).toMatchObject({ ending: "end", last: 1_001 });
    expect(live.text === batchOf(key, 1, 1_000, 200).sse + batchOf(key, 1_001, 1_001).sse).toBe(true);
    await dawdling.return?.(undefined);
  });

  test("a log up to its bound is whole", async () => {
    const relay = store.open({ logBytesMax: 50_000 });
    const key = newKey();
    for (let first = 1; first <= 100; first += 10) await relay.append(key, batchOf(key, first, first + 9, 200));
    await relay.end(key, null);
    expect((await read(relay, key).done).text === batchOf(key, 1, 100, 200).sse).toBe(true);
  });
}
