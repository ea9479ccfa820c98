import { expect, test } from "bun:test";
import fc from "fast-check";
import { LogCursor, type LogPage } from "../../../src/kernel/relay/cursor.ts";
import { type Batch, dropBefore, lastOf } from "../../../src/kernel/relay/relay.ts";
import type { Mark } from "../../../src/kernel/relay/scripts.ts";
import { WriteBuffer } from "../../../src/kernel/relay/write-buffer.ts";
import { batchOf, newKey } from "../../harness/relay-reading.ts";

const key = newKey();
const actions = ["append", "publish", "startRead", "askRead", "endRead", "take", "force", "check"] as const;

/** A log, the publications still on their way, and a cursor with at most one read on its way. */
class Scene {
  readonly log: Batch[] = [];
  readonly underway: (Batch | Mark)[] = [];
  readonly cursor: LogCursor;
  readonly seen: number[] = [];
  mark: Mark | null = null;
  ending: string | null = null;
  reading: { from: number; entries: number; page: LogPage | null } | null = null;

  constructor(from: number) {
    this.cursor = new LogCursor(from);
    this.cursor.force();
  }

  get tail(): number {
    return this.log.length === 0 ? 0 : lastOf(this.log.at(-1)!);
  }

  close(): void {
    this.mark = { type: "end", tail: this.tail };
    this.underway.push(this.mark);
  }

  act(action: (typeof actions)[number], size: number): void {
    const { cursor, reading } = this;
    if (action === "append" && this.mark === null) {
      const batch = batchOf(key, this.tail + 1, this.tail + size);
      this.log.push(batch);
      this.underway.push(batch);
    } else if (action === "publish" && this.underway.length > 0) cursor.publish(this.underway.shift()!);
    else if (action === "startRead" && cursor.stale) {
      cursor.startRead();
      this.reading = { from: cursor.next, entries: Math.min(size, cursor.pageEntries), page: null };
    } else if (action === "askRead" && reading !== null) reading.page ??= this.#pageFrom(reading.from, reading.entries);
    else if (action === "endRead" && reading?.page) {
      this.reading = null;
      cursor.endRead(reading.page);
    } else if (action === "take" && this.ending === null) this.#take();
    else if (action === "force") cursor.force();
    else if (action === "check" && this.underway.length === 0 && reading === null && !cursor.stale) this.#check();
  }

  #take(): void {
    const step = this.cursor.take();
    if (step?.type === "batch") {
      for (let number = step.batch.first; number <= lastOf(step.batch); number++) this.seen.push(number);
    } else if (step !== null) this.ending = step.type;
  }

  /** All is published, no read is under way and none is asked for: the reader must be able to have it all. */
  #check(): void {
    for (let last = -1; last !== this.seen.length && this.ending === null; ) {
      last = this.seen.length;
      this.#take();
    }
    if (!this.cursor.stale) expect(this.cursor.next - 1).toBe(this.tail);
  }

  #pageFrom(from: number, count: number): LogPage {
    const rest = this.log.filter((batch) => lastOf(batch) >= from);
    const entries = rest.slice(0, count);
    const more = entries.length < rest.length || entries.length === count;
    const mark = entries.length < count ? this.mark : null;
    if (entries.length === 0) return { batch: null, mark, entries: 0, more: false };
    const batch = dropBefore(
      {
        first: entries[0]!.first,
        count: lastOf(entries.at(-1)!) - entries[0]!.first + 1,
        sse: entries.map((entry) => entry.sse).join(""),
      },
      from,
    );
    return { batch, mark, entries: entries.length, more: more && mark === null };
  }

  /** Everything arrives, and nothing more happens. */
  settle(): void {
    for (let round = 0; round < 1_000; round++) {
      for (const action of ["publish", "startRead", "askRead", "endRead", "take"] as const) this.act(action, 3);
    }
  }
}

test("however publications, reads and the reader interleave, each event is seen once and in order", () => {
  // More is published and read than appended, so that the reader often catches up.
  const likely = [
    "publish",
    "publish",
    "startRead",
    "askRead",
    "endRead",
    "endRead",
    "take",
    "check",
    "check",
  ] as const;
  const step = fc.tuple(fc.constantFrom(...actions, ...likely), fc.integer({ min: 1, max: 4 }));
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 120, size: "max" }),
      fc.integer({ min: 1, max: 3 }),
      fc.boolean(),
      (steps, from, ends) => {
        const scene = new Scene(from);
        // A follower asks for no event beyond the next one.
        scene.act("append", 2);
        for (const [action, size] of steps) scene.act(action, size);
        if (ends) scene.close();
        scene.settle();
        expect(scene.seen).toEqual(Array.from({ length: scene.tail - from + 1 }, (_, index) => from + index));
        expect(scene.ending).toBe(ends ? "end" : null);
        expect(scene.cursor.stale).toBe(false);
      },
    ),
    { numRuns: 1_000 },
  );
});

test("what was published of a log that vanished is not read for again and again", () => {
  const cursor = new LogCursor(1);
  cursor.publish(batchOf(key, 3, 4));
  cursor.publish({ type: "end", tail: 4 });
  expect(cursor.stale).toBe(true);
  cursor.startRead();
  cursor.endRead({ batch: null, mark: null, entries: 0, more: false });
  expect(cursor.stale).toBe(false);
  expect(cursor.take()).toBeNull();
});

test("an empty batch that is confirmed confirms nothing written since", () => {
  const text = new WriteBuffer(1_000);
  const probe = text.next();
  expect(probe).toMatchObject({ first: 1, count: 0 });
  expect(text.isOnLast).toBe(true);
  text.add("one", 3);
  text.confirm(probe);
  expect(text).toMatchObject({ confirmed: 0, unsent: true, unsentBytes: 3 });
  text.confirm(text.next());
  expect(text).toMatchObject({ confirmed: 1, unsent: false, unsentBytes: 0 });
  text.rewind();
  expect(text).toMatchObject({ confirmed: 0, unsent: true, unsentBytes: 3 });
});

test("a buffer beyond its bound keeps what is not confirmed, and gives up when that is too much", () => {
  const text = new WriteBuffer(4, { keptBytesMax: 10 });
  for (const event of ["aaaa", "bbbb"]) text.add(event, 4);
  text.confirm(text.next());
  text.rewind();
  expect(text).toMatchObject({ confirmed: 0, unsentBytes: 8, isGivenUp: false });
  text.confirm(text.next());
  text.add("cccc", 4);
  expect(text).toMatchObject({ confirmed: 1, unsentBytes: 8 });
  expect(text.next()).toMatchObject({ first: 2, sse: "bbbb" });
  text.confirm(text.next());
  expect(text.next()).toMatchObject({ first: 3, sse: "cccc" });
  text.add("dddd", 4);
  expect(text.isGivenUp).toBe(false);
  text.add("eeee", 4);
  expect(text).toMatchObject({ isGivenUp: true, unsent: false, written: 5, confirmed: 5 });
});

test("a buffer that has dropped its first event is given up when the relay loses the log", () => {
  const text = new WriteBuffer(4, { keptBytesMax: 10 });
  for (const event of ["aaaa", "bbbb", "cccc"]) {
    text.add(event, 4);
    text.confirm(text.next());
  }
  text.rewind();
  expect(text).toMatchObject({ isGivenUp: true, unsent: false, written: 3 });
});
