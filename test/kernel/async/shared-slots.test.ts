import { expect, test } from "bun:test";
import { SharedSlots } from "../../../src/kernel/async/shared-slots.ts";

/** Asks for a slot and notes in `order` when it is given. */
function ask(slots: SharedSlots, order: string[], holder: string, name: string, signal: AbortSignal | null = null) {
  return slots.take(holder, signal).then((release) => {
    order.push(name);
    return release;
  });
}

test("one holder gets its share only, another one what is left", async () => {
  const slots = new SharedSlots(3, 2);
  const order: string[] = [];
  const first = await ask(slots, order, "a", "a1");
  await ask(slots, order, "a", "a2");
  const third = ask(slots, order, "a", "a3");
  await ask(slots, order, "b", "b1");
  expect(order).toEqual(["a1", "a2", "b1"]);
  first();
  await third;
  expect(order).toEqual(["a1", "a2", "b1", "a3"]);
});

test("a freed slot goes to the waiting holder that has the fewest, whoever asked first", async () => {
  const slots = new SharedSlots(4, 2);
  const order: string[] = [];
  const held = [
    await ask(slots, order, "a", "a1"),
    await ask(slots, order, "a", "a2"),
    await ask(slots, order, "b", "b1"),
    await ask(slots, order, "b", "b2"),
  ];
  const waiting = ["a", "b"].flatMap((holder) => [3, 4].map((n) => ask(slots, order, holder, `${holder}${n}`)));
  const late = ask(slots, order, "c", "c1");
  held[0]?.();
  await late;
  expect(order.at(-1)).toBe("c1");
  held[2]?.();
  await waiting[0];
  expect(order.at(-1)).toBe("a3");
  held[1]?.();
  await waiting[2];
  expect(order.at(-1)).toBe("b3");
});

test("who stops waiting gets none, and leaves the line to the others", async () => {
  const slots = new SharedSlots(1, 1);
  const order: string[] = [];
  const release = await ask(slots, order, "a", "a1");
  const stop = new AbortController();
  const given = ask(slots, order, "b", "b1", stop.signal);
  const next = ask(slots, order, "c", "c1");
  stop.abort(new Error("enough"));
  expect(given).rejects.toThrow("enough");
  release();
  release();
  const releaseNext = await next;
  expect(order).toEqual(["a1", "c1"]);
  releaseNext();
  await ask(slots, order, "b", "b2");
  expect(order).toEqual(["a1", "c1", "b2"]);
});
