import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { MemoryRelay } from "../../../src/kernel/relay/memory.ts";
import { RelayWriter } from "../../../src/kernel/relay/writer.ts";
import { batchOf, chunkOf, newKey, read, until } from "../../harness/relay-reading.ts";

describe("RelayWriter", () => {
  let relay: MemoryRelay;
  beforeEach(() => {
    relay = new MemoryRelay();
  });
  afterEach(() => relay.close());

  /** The batches as they were appended: the in-process relay hands them over uncut. */
  async function batchesOf(key: ReturnType<typeof newKey>): Promise<number[]> {
    const counts: number[] = [];
    for await (const step of relay.follow(key, 1, AbortSignal.timeout(20_000))) {
      if (step.type === "batch") counts.push(step.batch.count);
    }
    return counts;
  }

  test("what is written in one step, or while an append is under way, shares a batch", async () => {
    const key = newKey();
    const writer = new RelayWriter(relay, key);
    writer.write(chunkOf(1));
    writer.write(chunkOf(2));
    await writer.flush();
    expect(writer.written).toBe(2);
    for (let number = 3; number <= 50; number++) writer.write(chunkOf(number));
    expect(await writer.end([chunkOf(51), chunkOf(52)])).toBe("ok");
    expect(await batchesOf(key)).toEqual([2, 48, 2]);
    expect((await read(relay, key).done).text).toBe(batchOf(key, 1, 52).sse);
  });

  test("chunks that a model sent together share a batch", async () => {
    const key = newKey();
    const writer = new RelayWriter(relay, key);
    for (let number = 1; number <= 20; number++) {
      writer.write(chunkOf(number));
      // Between two chunks stand some promises, and nothing that the process waits for.
      for (let steps = 0; steps < 10; steps++) await Promise.resolve();
    }
    await writer.end([]);
    expect(await batchesOf(key)).toEqual([20]);
  });

  test("batches are cut at their bound in bytes, a larger chunk goes alone", async () => {
    const key = newKey();
    const writer = new RelayWriter(relay, key, { batchBytesMax: 1_000 });
    writer.write("a");
    writer.write("x".repeat(5_000));
    writer.write("b");
    for (let index = 0; index < 4; index++) writer.write("é".repeat(200));
    await writer.end([]);
    expect(await batchesOf(key)).toEqual([1, 1, 3, 2]);
  });

  test("a full queue asks for patience until it is drained", async () => {
    const key = newKey();
    const writer = new RelayWriter(relay, key, { queueBytesMax: 1_000 });
    expect(writer.write("x".repeat(500))).toBeUndefined();
    const wait = writer.write("x".repeat(500));
    expect(wait).toBeInstanceOf(Promise);
    await wait;
    const reading = read(relay, key);
    await until(() => reading.last === 2);
    await writer.end([]);
  });

  test("what was sent is not waited for until the relay has answered; what is still here is", async () => {
    const key = newKey();
    const answers: (() => void)[] = [];
    const append = relay.append.bind(relay);
    relay.append = async (...asked) => {
      const appended = append(...asked);
      await new Promise<void>((resolve) => answers.push(resolve));
      return appended;
    };
    const writer = new RelayWriter(relay, key);
    writer.write(chunkOf(1));
    await writer.sent();
    const reading = read(relay, key);
    await until(() => reading.last === 1);
    // The first append is not answered, so this one waits.
    writer.write(chunkOf(2));
    let sent = false;
    const sending = writer.sent().then(() => {
      sent = true;
    });
    let flushed = false;
    const flushing = writer.flush().then(() => {
      flushed = true;
    });
    await until(() => answers.length === 1);
    expect(sent).toBe(false);
    answers[0]?.();
    await sending;
    expect([answers.length, flushed]).toEqual([2, false]);
    answers[1]?.();
    await flushing;
    expect(await writer.end([])).toBe("ok");
    expect((await reading.done).last).toBe(2);
  });

  test("a sealed writer says so, at the next append or by itself, and drops what comes", async () => {
    for (const probeMs of [60_000, 20]) {
      const key = newKey();
      let told = 0;
      const writer = new RelayWriter(relay, key, { probeMs, onSealed: () => told++ });
      writer.write(chunkOf(1));
      await writer.flush();
      await relay.seal(key);
      if (probeMs === 60_000) writer.write(chunkOf(2));
      await until(() => writer.sealed);
      expect(told).toBe(1);
      const { written } = writer;
      writer.write(chunkOf(3));
      await writer.flush();
      expect(writer.written).toBe(written);
      expect(await writer.end([chunkOf(4)])).toBe("sealed");
      expect(await read(relay, key).done).toMatchObject({ ending: "sealed", last: 1 });
    }
  });

  test("a writer that goes on with a log numbers on from its end, and the one before it is told", async () => {
    const key = newKey();
    const first = new RelayWriter(relay, key);
    for (let number = 1; number <= 3; number++) first.write(chunkOf(number));
    await first.flush();
    const { tail } = await relay.fence(key, 2);
    const second = new RelayWriter(relay, { ...key, claim: 2 }, { held: tail });
    expect(second.written).toBe(3);
    first.write(chunkOf(4));
    second.write(chunkOf(4));
    await Promise.all([first.flush(), second.flush()]);
    expect([first.sealed, second.sealed, second.written]).toEqual([true, false, 4]);
    expect(await first.end([])).toBe("sealed");
    expect(await second.end([chunkOf(5)])).toBe("ok");
    expect(await read(relay, key).done).toMatchObject({ ending: "end", text: batchOf(key, 1, 5).sse });
  });

  test("end is idempotent and final, with or without events", async () => {
    const key = newKey();
    const writer = new RelayWriter(relay, key);
    const ends = [writer.end([]), writer.end([chunkOf(9)])];
    expect(await Promise.all(ends)).toEqual(["ok", "ok"]);
    expect(writer.write(chunkOf(1))).toBeUndefined();
    expect(await writer.end([chunkOf(9)])).toBe("ok");
    expect(await read(relay, key).done).toMatchObject({ ending: "end", last: 0 });
  });

  test("a closed writer writes no more and returns", async () => {
    const key = newKey();
    const writer = new RelayWriter(relay, key);
    writer.write(chunkOf(1));
    await writer.flush();
    writer.close();
    writer.write(chunkOf(2));
    await writer.flush();
    expect(writer.written).toBe(1);
    expect(await writer.end([])).toBe("away");
  });
});
