import { expect, test } from "bun:test";
import { Places } from "../../../src/kernel/admission/places.ts";

const neverMs = 60_000;

test("as many places as there are, then one waits for the next that is given back", async () => {
  const places = new Places<string>({ max: 2, waitMs: neverMs, waitingMax: 1 });
  expect([places.take("a"), places.take("a"), places.take("b")]).toEqual([true, true, true]);
  const third = places.take("a");
  expect(third).toBeInstanceOf(Promise);
  expect(await places.take("a")).toBe(false);
  places.give("a");
  expect([await third, places.countOf("a")]).toEqual([true, 2]);
  places.give("a");
  places.give("a");
  expect([places.countOf("a"), places.countOf("b")]).toEqual([0, 1]);
});

test("who waits in vain gets none, and leaves none behind", async () => {
  const places = new Places<string>({ max: 1, waitMs: 1, waitingMax: 10 });
  places.take("a");
  expect(await places.take("a")).toBe(false);
  places.give("a");
  expect(places.countOf("a")).toBe(0);
});
