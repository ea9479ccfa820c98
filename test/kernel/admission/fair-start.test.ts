import { expect, test } from "bun:test";
import { FairStart } from "../../../src/kernel/admission/fair-start.ts";

const neverMs = 60_000;

test("who has nothing under way begins before those who have", async () => {
  const start = new FairStart(2, neverMs);
  const order: string[] = [];
  const first = await start.begin("flood");
  const second = await start.begin("flood");
  const waiting = ["flood", "flood", "other"].map(async (holder) => {
    const end = await start.begin(holder);
    order.push(holder);
    return end;
  });
  first();
  first();
  const other = await waiting[2];
  expect(order).toEqual(["other"]);
  second();
  await waiting[0];
  other?.();
  await waiting[1];
  expect(order).toEqual(["other", "flood", "flood"]);
});

test("what is under way for long makes room", async () => {
  const start = new FairStart(1, 1);
  const end = await start.begin("slow");
  const next = await start.begin("next");
  end();
  next();
  (await start.begin("last"))();
});
