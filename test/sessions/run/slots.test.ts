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

describe("who holds none", () => {
  const others = (count: number) => Array.from({ length: count }, (_, n) => ({ tenantId: `ten_${n}`, weight: 1 }));

  test.each([1, 2, 3])("takes any free slot, until there is none, of %i", (capacity) => {
    const slots = new TurnSlots(capacity);
    takeAll(slots);
    const taken = others(8).filter((other) => slots.take(other));
    expect([taken.length, slots.open]).toEqual([capacity - (slots.held.get(a.tenantId) ?? 0), 0]);
  });

  test.each([4, 5, 10, 500])("gets one of four slots beyond the others when all %i are taken", (capacity) => {
    const slots = new TurnSlots(capacity);
    const taken = others(capacity + 8).filter((other) => slots.take(other));
    expect([taken.length, slots.free, slots.open]).toEqual([capacity + 4, 0, 0]);
    expect(taken.some((other) => slots.mayTake(other))).toBe(false);
  });

  test("so three tenants that want all leave one to the next", () => {
    const slots = new TurnSlots(4);
    for (const hog of [a, b, { tenantId: "ten_c", weight: 100 }]) expect(takeAll(slots, hog)).toBeGreaterThan(0);
    expect(takeAll(slots, { tenantId: "ten_d", weight: 1 })).toBe(1);
  });
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

describe("with one slot", () => {
  /** Who gets the slot each time it is free, while both always wait. */
  function order(waiting: readonly { tenantId: string; weight: number }[], rounds: number): string {
    const slots = new TurnSlots(1);
    let taken = "";
    for (let round = 0; round < rounds; round++) {
      const next = slots.next(waiting);
      if (next === undefined || !slots.take(next)) throw new Error("Nobody may take the slot.");
      taken += next.tenantId.at(-1);
      slots.release(next.tenantId);
    }
    return taken;
  }

  test("those that wait take turns, whoever has waited longer", () => {
    expect(order([a, b], 6)).toBe("ababab");
  });

  test("by weight", () => {
    const taken = order([a, { ...b, weight: 4 }], 50);
    expect([...taken].filter((letter) => letter === "b")).toHaveLength(40);
  });

  test("one that waited for nobody saves nothing up", () => {
    const slots = new TurnSlots(1);
    for (let n = 0; n < 20; n++) {
      slots.take(a);
      slots.release(a.tenantId);
    }
    const taken: string[] = [];
    for (let n = 0; n < 4; n++) {
      const next = slots.next([a, b]) ?? a;
      slots.take(next);
      slots.release(next.tenantId);
      taken.push(next.tenantId);
    }
    expect(taken.filter((tenant) => tenant === a.tenantId)).toHaveLength(2);
  });
});
