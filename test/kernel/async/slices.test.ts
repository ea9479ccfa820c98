import { expect, test } from "bun:test";
import {
  inOneSlice,
  inSlices,
  OutOfTimeError,
  type SliceClock,
  type SlicedWork,
} from "../../../src/kernel/async/slices.ts";
import { longestStallMs } from "../../harness/stall.ts";

/** Works for so long, in steps of a tenth of a millisecond. */
function* busy(clock: SliceClock, ms: number, onSlice = () => {}): SlicedWork<string> {
  for (let done = 0; done < ms; done += 0.1) {
    const until = performance.now() + 0.1;
    while (performance.now() < until);
    if (clock.isOver(1_000)) {
      onSlice();
      yield;
    }
  }
  return "done";
}

test("long work leaves the event loop to others, however much there is of it", async () => {
  const stood = await longestStallMs(() =>
    Promise.all(Array.from({ length: 30 }, () => inSlices({ msMax: 10_000 }, (clock) => busy(clock, 20)))),
  );
  // Together it is 600 ms.
  expect(stood).toBeLessThan(300);
});

test("pieces that cannot be divided share the rounds", async () => {
  const hold = () => {
    const until = performance.now() + 10;
    while (performance.now() < until);
  };
  const stood = await longestStallMs(() => Promise.all(Array.from({ length: 40 }, () => inOneSlice(hold))));
  // Together it is 400 ms.
  expect(stood).toBeLessThan(200);
});

test("holders take turns, so one with little is done before one with much", async () => {
  const ended: string[] = [];
  const run = (holder: string) =>
    inSlices({ holder, msMax: 10_000 }, (clock) => busy(clock, 12)).then(() => void ended.push(holder));
  const many = Array.from({ length: 20 }, () => run("many"));
  const one = run("one");
  await Promise.all([...many, one]);
  expect(ended.indexOf("one")).toBeLessThan(8);
});

test("work that takes longer than it may, that fails, or that nobody waits for, ends", async () => {
  const endless = inSlices({ msMax: 20 }, (clock) => busy(clock, 60_000));
  expect(await endless.catch((error) => error)).toBeInstanceOf(OutOfTimeError);
  const fail = () => {
    throw new Error("no");
  };
  const failing = inSlices({ msMax: 20_000 }, (clock) => busy(clock, 60_000, fail));
  expect(failing).rejects.toThrow("no");
  const given = new AbortController();
  const dropped = inSlices({ msMax: 10_000, signal: given.signal }, (clock) =>
    busy(clock, 60_000, () => given.abort(new Error("away"))),
  );
  expect(dropped).rejects.toThrow("away");
  // What it may take is its own: a process that is put aside in a slice seems to work on.
  expect(await inSlices({ msMax: 10_000 }, (clock) => busy(clock, 1))).toBe("done");
});
