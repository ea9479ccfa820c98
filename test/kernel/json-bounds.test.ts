import { expect, test } from "bun:test";
import { foreignJsonDepthMax, jsonExcess, readForeignJson } from "../../src/kernel/json-bounds.ts";
import { jsonValuesMax } from "../../src/kernel/limits.ts";

const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
const list = (item: string, count: number) => `[${Array(count).fill(item).join(",")}]`;

test("JSON of another server is read, as text, bytes or pieces of bytes", async () => {
  const text = '{"name":"ß","list":[1,null,true]}';
  const bytes = new TextEncoder().encode(text);
  for (const source of [text, bytes, [bytes.subarray(0, 10), bytes.subarray(10)]])
    expect(await readForeignJson(source)).toEqual({ outcome: "read", value: JSON.parse(text) });
});

test("what is no JSON, no UTF-8, too many values or too deep is told by a word, and not parsed", async () => {
  expect(await readForeignJson("{")).toEqual({ outcome: "malformed" });
  expect(await readForeignJson("")).toEqual({ outcome: "malformed" });
  expect(await readForeignJson(new Uint8Array([0x22, 0xff, 0x22]))).toEqual({ outcome: "malformed" });
  expect(await readForeignJson(list("[]", jsonValuesMax))).toEqual({ outcome: "too_many_values" });
  expect(await readForeignJson(list("1", jsonValuesMax - 1))).toMatchObject({ outcome: "read" });
  expect(await readForeignJson(nested(foreignJsonDepthMax))).toMatchObject({ outcome: "read" });
  expect(await readForeignJson(nested(foreignJsonDepthMax + 1))).toEqual({ outcome: "too_deep" });
  expect(await readForeignJson("[".repeat(2_000_000))).toEqual({ outcome: "too_deep" });
});

test("brackets in texts and siblings are no depth", async () => {
  expect(await jsonExcess(`["${"[".repeat(1_000)}\\"[",${nested(2)},${nested(2)}]`, { depthMax: 3 })).toBeNull();
  expect(await jsonExcess(nested(4), { depthMax: 3 })).toBe("too_deep");
  expect(await jsonExcess("[1,2,3]", { valuesMax: 3 })).toBe("too_many_values");
  expect(await jsonExcess("[1,2,3]", { valuesMax: 4 })).toBeNull();
});
