import { expect, test } from "bun:test";
import { canonicalJson } from "../../../src/kernel/http/canonical-json.ts";

test("the order of fields makes no difference, and everything else does", () => {
  expect(canonicalJson({ b: [1, { d: null, c: "x" }], a: true })).toBe('{"a":true,"b":[1,{"c":"x","d":null}]}');
  const values = [
    null,
    0,
    1,
    "1",
    "",
    [],
    {},
    [null],
    [[]],
    { a: [] },
    { a: {} },
    { "a,b": 1 },
    { a: "1", b: 1 },
    { a: '1","b":1' },
    ["a", "b"],
    ["a,b"],
    [new Uint8Array([1])],
    [new Uint8Array([2])],
  ];
  expect(new Set(values.map(canonicalJson)).size).toBe(values.length);
});

test("what it returns is JSON of the value", () => {
  const value = { text: 'quote " and \\ and \n', numbers: [-1.5e300, 0.1, 1e21], nested: { a: [{ b: false }] } };
  expect(JSON.parse(canonicalJson(value))).toEqual(value);
});
