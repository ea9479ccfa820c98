import { describe, expect, test } from "bun:test";
import { TurnSlots } from "../../../src/sessions/run/slots.ts";

const a = { tenantId: "ten_a", weight: 1 };
const b = { tenantId: "ten_b", weight: 1 };

/** How many slots a tenant gets that takes what it may. */
function takeAll(slots: TurnSlots, claimant = a): number {
  let taken = 0;
  while (slots.take(claimant)) taken += 1;
  return taken;
}

describe("a tenant alone", () => {
  test.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 3],
    [5, 4],
    [10, 8],
    [100, 80],
    [500, 400],
  ])("of %i slots it takes %i", (capacity, held) => {
    const slots = new TurnSlots(capacity);
    expect(takeAll(slots)).toBe(held);
    expect(slots.free).toBe(capacity - held);
    expect(slots.held).toEqual(new Map([[a.tenantId, held]]));
  });

  test("of a greater weight takes more, but leaves a slot free", () => {
    const slots = new TurnSlots(10);
    expect(takeAll(slots, { ...a, weight: 100 })).toBe(9);
    expect(slots.take(b)).toBe(true);
  });
});

test("who holds none takes any free slot, until there is none", () => {
  const slots = new TurnSlots(5);
  takeAll(slots);
  expect(slots.take(b)).toBe(true);
  expect(slots.free).toBe(0);
  expect(slots.mayTake({ tenantId: "ten_c", weight: 100 })).toBe(false);
});

test("a slot that is given back can be taken again; none can be given back that is not held", () => {
  const slots = new TurnSlots(1);
  expect(slots.take(a)).toBe(true);
  slots.release(a.tenantId);
  expect(slots.take(b)).toBe(true);
  expect(() => slots.release(a.tenantId)).toThrow();
});

describe("the next slot goes to the tenant that", () => {
  test("holds the fewest by weight", () => {
    const slots = new TurnSlots(50);
    const heavy = { ...b, weight: 3 };
    for (let n = 0; n < 4; n++) slots.take(a);
    for (let n = 0; n < 9; n++) slots.take(heavy);
    expect(slots.next([a, heavy])).toBe(heavy);
    for (let n = 0; n < 6; n++) slots.take(heavy);
    expect(slots.next([heavy, a])).toBe(a);
  });

  test("comes first, of those that hold as many", () => {
    const slots = new TurnSlots(50);
    expect(slots.next([b, a])).toBe(b);
    expect(slots.next([])).toBeUndefined();
  });

  test("may take it", () => {
    const slots = new TurnSlots(3);
    takeAll(slots);
    expect(slots.next([a])).toBeUndefined();
    expect(slots.next([a, b])).toBe(b);
  });
});
