import { afterEach, describe, expect, jest, test } from "bun:test";
import { cachedMessageBytes, cachedTranscriptMs, cachedTranscriptsBytesMax } from "../../../src/kernel/limits.ts";
import { type CachedTranscript, TranscriptCache } from "../../../src/sessions/transcript/cache.ts";

const bytesMax = 32 * 1024;
/** With no message in it, an entry counts as its bytes and this. */
const entryBytes = cachedMessageBytes;

function transcript(tenantId: string, size: number): CachedTranscript {
  return { tenantId, afterSeq: 0, uptoSeq: 9, turnId: "turn", count: 9, messages: [], bytes: size - entryBytes };
}

/** A cache with a clock of the test's own. */
function cacheAt(): { cache: TranscriptCache; clock: { now: number } } {
  const clock = { now: 1_000 };
  return { cache: new TranscriptCache({ bytesMax, now: () => clock.now }), clock };
}

const held = (cache: TranscriptCache, ids: readonly string[]) => ids.filter((id) => cache.get(id) !== null);

describe("the cache of transcripts", () => {
  test("holds a quarter of its room for a tenant, whose least recently used transcript goes for its newest one", () => {
    const { cache } = cacheAt();
    cache.set("other", transcript("b", 8 * 1024));
    for (const id of ["a1", "a2"]) cache.set(id, transcript("a", 4 * 1024));
    expect(held(cache, ["a1", "a2", "other"])).toEqual(["a1", "a2", "other"]);
    cache.set("a1", transcript("a", 4 * 1024));
    cache.set("a3", transcript("a", 4 * 1024));
    expect(held(cache, ["a1", "a2", "a3", "other"])).toEqual(["a1", "a3", "other"]);
    for (let more = 0; more < 100; more++) cache.set(`more${more}`, transcript("a", 1024));
    expect(held(cache, ["a1", "a2", "a3", "more91", "more92", "more99", "other"])).toEqual([
      "more92",
      "more99",
      "other",
    ]);
  });

  test("does not hold one that is larger than that, nor what was known of its session", () => {
    const { cache } = cacheAt();
    cache.set("s", transcript("a", bytesMax / 4));
    cache.set("s2", transcript("b", bytesMax / 4));
    expect(held(cache, ["s", "s2"])).toEqual(["s", "s2"]);
    cache.set("s", transcript("a", bytesMax / 4 + 1));
    expect(held(cache, ["s", "s2"])).toEqual(["s2"]);
  });

  test("counts a message with what it takes as objects", () => {
    const { cache } = cacheAt();
    const message = { seq: 1, message: { id: "m", role: "user" as const, parts: [] } };
    const count = bytesMax / 4 / cachedMessageBytes;
    const of = (length: number) => ({ ...transcript("a", entryBytes), messages: new Array(length).fill(message) });
    cache.set("s", of(count - 1));
    expect(held(cache, ["s"])).toEqual(["s"]);
    cache.set("s", of(count));
    expect(held(cache, ["s"])).toEqual([]);
  });

  test("is full when the tenants together have filled it; then the least recently used goes, whosever it is", () => {
    const { cache } = cacheAt();
    const tenants = ["a", "b", "c", "d"];
    for (const tenant of tenants) cache.set(tenant, transcript(tenant, bytesMax / 4));
    expect(held(cache, tenants)).toEqual(tenants);
    cache.set("e", transcript("e", 1024));
    expect(held(cache, [...tenants, "e"])).toEqual(["b", "c", "d", "e"]);
    // What went takes no room.
    for (let round = 0; round < 50; round++) cache.set("f", transcript("f", bytesMax / 8));
    cache.delete("b");
    cache.set("a", transcript("a", bytesMax / 4));
    expect(held(cache, ["a", "c", "d", "e", "f"])).toEqual(["a", "c", "d", "e", "f"]);
  });

  test("drops what nobody used for a minute", () => {
    const { cache, clock } = cacheAt();
    cache.set("s", transcript("a", 1024));
    cache.set("s2", transcript("a", 1024));
    clock.now += cachedTranscriptMs - 1;
    cache.set("s", transcript("a", 1024));
    expect(held(cache, ["s", "s2"])).toEqual(["s", "s2"]);
    clock.now += 1;
    expect(held(cache, ["s", "s2"])).toEqual(["s"]);
    clock.now += cachedTranscriptMs - 1;
    expect(held(cache, ["s", "s2"])).toEqual([]);
  });

  test("a tenant's part of the room that a worker has is 8 MiB", () => {
    const cache = new TranscriptCache();
    const part = cachedTranscriptsBytesMax / 4;
    expect(part).toBe(8 * 1024 * 1024);
    cache.set("s", transcript("a", part));
    cache.set("s2", transcript("b", part + 1));
    expect(held(cache, ["s", "s2"])).toEqual(["s"]);
  });
});

describe("by itself", () => {
  afterEach(() => void jest.useRealTimers());

  test("the cache lets go of a transcript, with nobody asking for it", () => {
    jest.useFakeTimers();
    const { cache, clock } = cacheAt();
    const pass = (ms: number) => {
      clock.now += ms;
      jest.advanceTimersByTime(ms);
    };
    cache.set("s", transcript("a", 1024));
    pass(40_000);
    cache.set("s2", transcript("a", 1024));
    expect(cache.size).toBe(2048);
    pass(cachedTranscriptMs - 40_000);
    expect(cache.size).toBe(1024);
    pass(40_000);
    expect(cache.size).toBe(0);
    cache.set("s3", transcript("a", 1024));
    pass(cachedTranscriptMs);
    expect(cache.size).toBe(0);
  });
});
