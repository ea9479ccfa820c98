import { expect, test } from "bun:test";
import { setImmediate as nextRound } from "node:timers/promises";
import { TickShares } from "../../../src/kernel/async/tick-shares.ts";

/** Does `pieces` pieces of work for a holder, one after the other, and notes each. */
async function work(shares: TickShares, done: string[], holder: string, pieces: number): Promise<void> {
  for (let n = 0; n < pieces; n++) {
    await shares.turn(holder, 1);
    done.push(holder);
  }
}

test("whoever has little passes at once", () => {
  const shares = new TickShares(2);
  expect(shares.turn("a", 1)).toBeNull();
  expect(shares.turn("a", 1)).toBeNull();
  expect(shares.turn("b", 100)).toBeNull();
  expect(shares.turn("a", 1)).not.toBeNull();
});

test("in a round each holder gets the same, however many of its pieces wait", async () => {
  const shares = new TickShares(1);
  const done: string[] = [];
  const many = Promise.all(Array.from({ length: 20 }, () => work(shares, done, "a", 10)));
  await nextRound();
  const before = done.length;
  await work(shares, done, "b", 5);
  // Five rounds at most went by: one piece of the other's in each.
  expect(done.slice(before).filter((holder) => holder === "a").length).toBeLessThanOrEqual(6);
  await many;
  expect(done.filter((holder) => holder === "a").length).toBe(200);
});

test("one holder's pieces pass in the order in which they came", async () => {
  const shares = new TickShares(1);
  const order: number[] = [];
  await Promise.all(
    [1, 2, 3, 4, 5].map(async (n) => {
      await shares.turn("a", 1);
      order.push(n);
    }),
  );
  expect(order).toEqual([1, 2, 3, 4, 5]);
});
