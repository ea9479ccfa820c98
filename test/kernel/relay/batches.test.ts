import { expect, test } from "bun:test";
import { dropBefore } from "../../../src/kernel/relay/relay.ts";
import { batchOf, newKey } from "../../harness/relay-reading.ts";

test("dropBefore cuts between events only", () => {
  const key = newKey();
  const batch = batchOf(key, 5, 9);
  expect(dropBefore(batch, 1)).toBe(batch);
  expect(dropBefore(batch, 5)).toBe(batch);
  for (let from = 6; from <= 9; from++) expect(dropBefore(batch, from)).toEqual(batchOf(key, from, 9));
  expect(dropBefore(batch, 10)).toBeNull();
});
