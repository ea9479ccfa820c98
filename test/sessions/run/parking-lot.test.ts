import { describe, expect, test } from "bun:test";
import { ParkingLot } from "../../../src/sessions/run/parking-lot.ts";
import { type SlotClaimant, TurnSlots } from "../../../src/sessions/run/slots.ts";
import { eventually } from "../../harness/eventually.ts";

/** A lot of things that are parked in memory, by tenant; each look finds two tenants at most. */
function makeLot(slotsMax: number) {
  const slots = new TurnSlots(slotsMax, 0);
  const parked = new Map<string, number>();
  const claimed: string[] = [];
  const looks: string[] = [];
  /** What a look waits for, after it has read what is parked. */
  let held: Promise<void> | null = null;
  const lot: ParkingLot<SlotClaimant> = new ParkingLot({
    slots,
    tenantsMax: 2,
    find: async (after) => {
      looks.push(after);
      const ids = [...parked.keys()].filter((id) => id > after && (parked.get(id) ?? 0) > 0).sort();
      await held;
      return ids.slice(0, 2).map((tenantId) => ({ tenantId, weight: 1 }));
    },
    claim: async (tenants) => {
      const before = claimed.length;
      for (const tenant of tenants) {
        while ((parked.get(tenant.tenantId) ?? 0) > 0 && slots.take(tenant)) {
          parked.set(tenant.tenantId, (parked.get(tenant.tenantId) ?? 0) - 1);
          claimed.push(tenant.tenantId);
        }
      }
      return { claimed: claimed.length - before, again: false };
    },
    onError: () => {},
  });
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    return () => {
      held = null;
      resolve();
    };
  };
  return { lot, slots, parked, claimed, looks, hold };
}

describe("what is parked", () => {
  test("is claimed once it is looked for, of all tenants, however many one look finds", async () => {
    const { lot, parked, claimed } = makeLot(20);
    for (const id of ["a", "b", "c", "d", "e"]) parked.set(id, 1);
    lot.note(null);
    lot.look();
    await eventually(() => claimed.length === 5);
    expect(claimed.toSorted()).toEqual(["a", "b", "c", "d", "e"]);
  });

  test("while a look is under way is found by the next one, which follows at once", async () => {
    const { lot, parked, claimed, looks, hold } = makeLot(20);
    const go = hold();
    lot.note(null);
    lot.look();
    await eventually(() => looks.length === 1);
    parked.set("a", 1);
    lot.note(null);
    lot.look();
    go();
    await eventually(() => claimed.length === 1);
  });

  test("while a look is under way that nobody repeats is found when the next slot gets free", async () => {
    const { lot, slots, parked, claimed, looks, hold } = makeLot(20);
    slots.take({ tenantId: "z", weight: 1 });
    const go = hold();
    lot.note(null);
    lot.look();
    await eventually(() => looks.length === 1);
    parked.set("a", 1);
    lot.note(null);
    go();
    await eventually(() => !lot.isLooking);
    expect(claimed).toEqual([]);
    slots.release("z");
    lot.lookIfWaiting();
    await eventually(() => claimed.length === 1);
  });

  test("and found no slot is claimed when one gets free; when nothing is left, nothing is looked for", async () => {
    const { lot, slots, parked, claimed, looks } = makeLot(1);
    parked.set("a", 2);
    lot.note(null);
    lot.look();
    await eventually(() => claimed.length === 1 && !lot.isLooking);
    for (let n = 0; n < 2; n++) {
      slots.release("a");
      lot.lookIfWaiting();
      await eventually(() => !lot.isLooking);
    }
    expect(claimed).toEqual(["a", "a"]);
    const before = looks.length;
    for (let n = 0; n < 10; n++) lot.lookIfWaiting();
    await eventually(() => !lot.isLooking);
    // The look that finds nothing is the last.
    expect(looks.length - before).toBeLessThanOrEqual(1);
    for (let n = 0; n < 10; n++) lot.lookIfWaiting();
    expect(lot.isLooking).toBe(false);
  });

  test("of a tenant that has nothing left is forgotten", async () => {
    const { lot, parked, claimed } = makeLot(20);
    parked.set("a", 1);
    lot.note({ tenantId: "a", weight: 1 });
    lot.note({ tenantId: "b", weight: 1 });
    expect([...lot.known.keys()]).toEqual(["a", "b"]);
    lot.look();
    await eventually(() => claimed.length === 1 && !lot.isLooking);
    lot.look();
    await eventually(() => !lot.isLooking);
    expect([...lot.known.keys()]).toEqual([]);
  });
});
