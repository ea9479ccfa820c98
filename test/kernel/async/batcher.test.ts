import { describe, expect, test } from "bun:test";
import { Batcher } from "../../../src/kernel/async/batcher.ts";
import { eventually } from "../../harness/eventually.ts";

/** Groups that wait for their results, as they were sent. */
class Sent {
  readonly groups: (readonly number[])[] = [];
  readonly #open: (() => void)[] = [];

  /** Returns each item with its double, or rejects, once `respond` is called. */
  readonly send = async (items: readonly number[]): Promise<number[]> => {
    this.groups.push(items);
    await new Promise<void>((resolve) => this.#open.push(resolve));
    if (items.includes(13)) throw new Error("thirteen");
    return items.map((item) => 2 * item);
  };

  /** Returns the results of the oldest group that waits. */
  async respond(): Promise<void> {
    const open = await eventually(() => this.#open.shift());
    open();
  }
}

describe("items that are sent together", () => {
  test("the first goes alone, and those that come meanwhile go next, each with its own result", async () => {
    const sent = new Sent();
    const batcher = new Batcher(sent.send, { countMax: 100 });
    const results = Promise.all([1, 2, 3, 4].map((item) => batcher.add(item)));
    await sent.respond();
    await sent.respond();
    expect(await results).toEqual([2, 4, 6, 8]);
    const last = batcher.add(5);
    await sent.respond();
    expect(await last).toBe(10);
    expect(sent.groups).toEqual([[1], [2, 3, 4], [5]]);
  });

  test("a group has at most so many items and so much in all, but for one that is larger by itself", async () => {
    const sent = new Sent();
    const batcher = new Batcher(sent.send, { countMax: 3, size: { of: (item) => item, max: 20 } });
    const items = [1, 2, 3, 4, 5, 11, 8, 2, 50, 1];
    const results = Promise.all(items.map((item) => batcher.add(item)));
    const groups = [[1], [2, 3, 4], [5, 11], [8, 2], [50], [1]];
    for (const _group of groups) await sent.respond();
    expect(await results).toEqual(items.map((item) => 2 * item));
    expect(sent.groups).toEqual(groups);
  });

  test("what fails fails for its group, and those behind it go on", async () => {
    const sent = new Sent();
    const batcher = new Batcher(sent.send, { countMax: 2 });
    const results = Promise.allSettled([1, 13, 2, 3].map((item) => batcher.add(item)));
    for (let n = 0; n < 3; n++) await sent.respond();
    expect((await results).map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
  });

  test("a group without a result holds up those behind it no longer than the patience lasts", async () => {
    const sent = new Sent();
    const batcher = new Batcher(sent.send, { countMax: 100, patienceMs: 20 });
    const results = Promise.all([1, 2].map((item) => batcher.add(item)));
    await eventually(() => sent.groups.length === 2);
    expect(sent.groups).toEqual([[1], [2]]);
    await sent.respond();
    await sent.respond();
    expect(await results).toEqual([2, 4]);
  });
});

test("under load, and only then, what comes soon after a group shares the next one", async () => {
  const sent = new Sent();
  const batcher = new Batcher(sent.send, { countMax: 100, gathers: true, pauseMs: 3_000 });
  const soon = (items: readonly number[]) =>
    Promise.all(items.map((item) => batcher.add(item))).then((results) => results.length);
  for (const items of [[1, 2, 3], [4], [5, 6, 7, 8]]) {
    const results = soon(items);
    await sent.respond();
    expect(await results).toBe(items.length);
  }
  const first = batcher.add(9);
  for (let n = 0; n < 10; n++) await new Promise((resolve) => setImmediate(resolve));
  const others = soon([10, 11]);
  await sent.respond();
  expect([await first, await others]).toEqual([18, 2]);
  expect(sent.groups).toEqual([[1, 2, 3], [4], [5, 6, 7, 8], [9, 10, 11]]);
});

test("a group that is full waits for no more", async () => {
  const sent = new Sent();
  const batcher = new Batcher(sent.send, { countMax: 4, gathers: true, pauseMs: 600_000 });
  const results = Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((item) => batcher.add(item)));
  for (let n = 0; n < 2; n++) await sent.respond();
  expect(await results).toEqual([2, 4, 6, 8, 10, 12, 14, 16]);
  expect(sent.groups).toEqual([
    [1, 2, 3, 4],
    [5, 6, 7, 8],
  ]);
});

test("what comes in one turn of the event loop shares a group where that is asked for", async () => {
  const groups: number[][] = [];
  const send = async (items: readonly number[]) => {
    groups.push([...items]);
    return items.map((item) => item * 10);
  };
  const atOnce = new Batcher(send, { countMax: 10 });
  expect(await Promise.all([1, 2, 3].map((item) => atOnce.add(item)))).toEqual([10, 20, 30]);
  const gathering = new Batcher(send, { countMax: 10, gathers: true });
  expect(await Promise.all([4, 5, 6].map((item) => gathering.add(item)))).toEqual([40, 50, 60]);
  expect(groups).toEqual([[1], [2, 3], [4, 5, 6]]);
});
