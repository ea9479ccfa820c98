import { describe, expect, test } from "bun:test";
import { Bell } from "../../workers/bell.ts";
import { eventually } from "../harness/eventually.ts";

/** Bells of so many workers with room; `asked` holds what each asked for. */
function makeBells(workers: number, more: { hasRoom?: boolean; restMs?: number; afterMs?: number } = {}) {
  const asked: number[] = Array.from({ length: workers }, () => 0);
  const bells = asked.map(
    (_, index) =>
      new Bell({
        ask: (count) => {
          asked[index] = (asked[index] ?? 0) + count;
        },
        askers: () => workers,
        mayAsk: () => more.hasRoom ?? true,
        restMs: more.restMs ?? 0,
        afterMs: more.afterMs ?? 0,
      }),
  );
  return { bells, asked, askers: () => asked.filter((count) => count > 0).length };
}

describe("an announced job", () => {
  test("is asked for at once by each of a few workers", () => {
    const { bells, askers } = makeBells(4);
    for (const bell of bells) bell.ring(1);
    expect(askers()).toBe(4);
  });

  test("is asked for at once by a few of many, and by the rest a little later, once for all announcements", async () => {
    const { bells, asked, askers } = makeBells(400);
    for (const bell of bells) bell.ring(1);
    // 4 are expected; more than 40 of 400 would come once in 10^20 times.
    expect(askers()).toBeLessThan(40);
    for (let n = 0; n < 10; n++) for (const bell of bells) bell.ring(1);
    await eventually(() => askers() === 400);
    await eventually(() => asked.every((count) => count === 11));
  });

  test("is left to the others by a worker without room, but not for ever", async () => {
    const { bells, askers } = makeBells(2, { hasRoom: false });
    for (const bell of bells) bell.ring(1);
    expect(askers()).toBe(0);
    await eventually(() => askers() === 2);
  });

  test("is asked for first by a worker with room, also where those who hear of it may claim it before", async () => {
    for (let n = 0; n < 5; n++) {
      const order: string[] = [];
      const ring = (name: string, hasRoom: boolean) => {
        const ask = () => void order.push(name);
        new Bell({ ask, askers: () => 1, mayAsk: () => hasRoom, restMs: 0, afterMs: 50 }).ring(1);
      };
      ring("full", false);
      ring("free", true);
      await eventually(() => order.length === 2);
      expect(order).toEqual(["free", "full"]);
    }
  });

  test("is asked for later, and once, where those who hear of it may claim it before", async () => {
    const { bells, asked } = makeBells(1, { afterMs: 20 });
    for (let n = 0; n < 10; n++) bells[0]?.ring(1);
    expect(asked).toEqual([0]);
    await eventually(() => asked[0] === 10);
  });

  test("costs no question more often than the bell is meant to ask", async () => {
    const { bells, asked } = makeBells(1, { restMs: 1_000 });
    for (let n = 0; n < 100; n++) bells[0]?.ring(1);
    expect(asked).toEqual([1]);
    await eventually(() => asked[0] === 100);
  });

  test("is asked for by nobody who has stopped", async () => {
    const { bells, asked } = makeBells(1, { restMs: 500 });
    bells[0]?.ring(1);
    bells[0]?.ring(1);
    bells[0]?.stop();
    const other = makeBells(1, { restMs: 1_000 });
    other.bells[0]?.ring(1);
    other.bells[0]?.ring(1);
    await eventually(() => other.asked[0] === 2);
    expect(asked).toEqual([1]);
  });
});
