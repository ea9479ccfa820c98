import { describe, expect, test } from "bun:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { inSlices, OutOfTimeError } from "../../src/kernel/async/slices.ts";
import { check, misfitOf, UncheckedError, type ValueSchema } from "../../src/kernel/json-schema.ts";
import { schemaFault } from "../../src/kernel/json-schema-fault.ts";
import { longestStallMs } from "../harness/stall.ts";

const place: ValueSchema = {
  type: "object",
  properties: {
    city: { type: "string", minLength: 1, maxLength: 5, pattern: "^[A-Z]" },
    days: { type: "integer", minimum: 1, exclusiveMaximum: 8 },
    tags: { type: "array", items: { enum: ["a", "b"] }, uniqueItems: true, maxItems: 2 },
    tree: { $ref: "#/$defs/node" },
  },
  required: ["city"],
  additionalProperties: false,
  $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } }, additionalProperties: false } },
};

describe("a JSON value against a schema", () => {
  test("fits, or says where it does not and why", async () => {
    expect(await misfitOf(place, { city: "Rome", days: 7, tags: ["a", "b"], tree: { next: { next: {} } } })).toBeNull();
    const faults: [unknown, string, string][] = [
      ["Rome", "", "must be an object"],
      [{}, "", "must have city"],
      [{ city: "" }, "/city", "must have at least 1 characters"],
      [{ city: "Römerstadt" }, "/city", "must have at most 5 characters"],
      [{ city: "rome" }, "/city", "must match the pattern ^[A-Z]"],
      [{ city: "Rome", days: 1.5 }, "/days", "must be a whole number"],
      [{ city: "Rome", days: 8 }, "/days", "must be less than 8"],
      [{ city: "Rome", tags: ["c"] }, "/tags/0", 'must be one of "a", "b"'],
      [{ city: "Rome", tags: ["a", "a"] }, "/tags", "must not have an item twice"],
      [{ city: "Rome", "x/y": 1 }, "/x~1y", "is not a known field"],
      [{ city: "Rome", tree: { next: { next: { more: 1 } } } }, "/tree/next/next/more", "is not a known field"],
    ];
    for (const [value, path, message] of faults) expect(await misfitOf(place, value)).toEqual({ path, message });
  });

  test("agrees with a whole validator on small schemas", async () => {
    const leaf = fc.constantFrom<ValueSchema>(
      { type: "string" },
      { type: "integer", minimum: 2 },
      { type: ["number", "null"] },
      { const: 1 },
      { enum: ["a", 2, null] },
      { minLength: 2, pattern: "^a" },
      { type: "array", contains: { const: 1 }, minItems: 1 },
      true,
      false,
    );
    const { schema } = fc.letrec<{ schema: ValueSchema }>((tie) => ({
      schema: fc.oneof(
        { depthSize: "small" },
        leaf,
        fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
        fc.record({ oneOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
        fc.record({ allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
        fc.record({ not: tie("schema") }),
        // biome-ignore lint/suspicious/noThenProperty: it is JSON Schema's own word.
        fc.record({ if: tie("schema"), then: tie("schema"), else: tie("schema") }),
        fc.record({ properties: fc.record({ a: tie("schema") }), additionalProperties: tie("schema") }),
        fc.record({ prefixItems: fc.tuple(tie("schema")), items: tie("schema") }),
        fc.record({ patternProperties: fc.record({ "^b": tie("schema") }), propertyNames: tie("schema") }),
        fc.record({ required: fc.constant(["a"]), dependentRequired: fc.constant({ a: ["b"] }) }),
      ),
    }));
    const value = fc.jsonValue({ maxDepth: 2 });
    const near = fc.oneof(
      value,
      fc.constantFrom("a", "ab", 1, 2, 3, null, [], [1], { a: 1 }, { b: "ab" }, { a: 2, b: 1 }),
    );
    await fc.assert(
      fc.asyncProperty(schema, near, async (rule, tried) => {
        const ajv = new Ajv2020({ strict: false });
        expect((await misfitOf(rule, tried)) === null).toBe(ajv.validate(rule, tried));
      }),
      { numRuns: 60 },
    );
  }, 60_000);

  test("is decided or given up soon, and others go on meanwhile, whatever the schema is", async () => {
    const defs = Object.fromEntries(
      Array.from({ length: 150 }, (_, n) => {
        const next = { $ref: `#/$defs/n${n + 1}` };
        return [`n${n}`, { anyOf: [{ allOf: [next, { type: "string" }] }, next] }];
      }),
    );
    const many = Array.from({ length: 90_000 }, () => 1);
    const none = Array(999).fill(2);
    const hostile: [string, ValueSchema, unknown][] = [
      ["schemas that fork", { $ref: "#/$defs/n0", $defs: { ...defs, n150: false } }, {}],
      ["a loop", { $ref: "#" }, 1],
      ["a backtracking pattern", { pattern: "(a+)+$" }, `${"a".repeat(200_000)}b`],
      ["a wide pattern", { pattern: "(.{900}a){1}" }, "b".repeat(2_000_000)],
      [
        "large patterns",
        { anyOf: Array.from({ length: 100 }, (_, n) => ({ pattern: `${"x{0,1000}".repeat(4)}${n}` })) },
        "x",
      ],
      ["enums", { items: { allOf: Array(30).fill({ enum: [...none, 1] }) } }, many],
      ["an enum of old", { items: { enum: Array(32_000).fill(2) } }, many],
      ["enums of objects", { items: { enum: Array(999).fill({ a: [1, 2] }) } }, many.map(() => ({ a: [1, 3] }))],
      ["types", { items: { type: Array(6_500).fill("string") } }, many],
      ["required fields", { items: { required: Array(16_000).fill("a") } }, many.map(() => ({ a: 1 }))],
      [
        "dependent fields",
        { items: { dependentRequired: { a: Array(16_000).fill("a") } } },
        many.map(() => ({ a: 1 })),
      ],
      ["a long reference", { $defs: { A: true }, items: { $ref: `#/$defs/${"%41".repeat(20_000)}` } }, many],
      ["messages that nobody reads", { items: { anyOf: [...Array(900).fill({ const: "x".repeat(60) }), true] } }, many],
      [
        "items of which none is twice",
        { uniqueItems: true, items: { uniqueItems: true } },
        many.map((_, n) => [n, n + 1]),
      ],
      ["a text of many pairs", { maxLength: 3 }, "😀".repeat(2_000_000)],
    ];
    for (const [name, schema, value] of hostile) {
      let outcome: unknown;
      const stood = await longestStallMs(async () => {
        outcome = await inSlices({ msMax: 200 }, (clock) => check(schema, value, clock)).catch((error) => error);
      });
      expect([name, stood < 400]).toEqual([name, true]);
      if (outcome instanceof Error)
        expect(outcome instanceof OutOfTimeError || outcome instanceof UncheckedError).toBe(true);
    }
  }, 120_000);

  test("what leads into itself, or takes too long, counts neither as a fit nor as none", async () => {
    expect(misfitOf({ $ref: "#" }, 1)).rejects.toBeInstanceOf(UncheckedError);
    const nested = (levels: number): unknown => (levels === 0 ? {} : { next: nested(levels - 1) });
    expect(await misfitOf(place, { city: "Rome", tree: nested(250) })).toBeNull();
    expect(await misfitOf({ items: { $ref: "https://elsewhere.example/schema" } }, [1])).toBeNull();
    expect(await misfitOf({ pattern: "^(?=a)b" }, "b")).toBeNull();
  });

  test("patterns of tools in use are taken, and matched where that is linear", async () => {
    const cases: [string, string, boolean][] = [
      ["^https\\:\\/\\/", "https://a.example", true],
      ["^https\\:\\/\\/", "http://a.example", false],
      ["^[\\p{L}\\p{N}_ .()-]+$", "Größe (2)", true],
      ["^[\\p{L}\\p{N}_ .()-]+$", "a/b", false],
      // It looks ahead, so it is passed on and not matched.
      ['^(?!__.*__$)[^\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}"\\\\./[\\]]{1,200}$', "__a__", true],
      ["^(a|a)*$", `${"a".repeat(5_000)}X`, false],
      ["((a+)+)+$", `${"a".repeat(5_000)}!`, false],
    ];
    for (const [pattern, text, fits] of cases) {
      expect(schemaFault({ pattern })).toBeNull();
      expect([pattern, (await misfitOf({ pattern }, text)) === null]).toEqual([pattern, fits]);
    }
  });

  test("ends with its signal", async () => {
    const signal = AbortSignal.abort(new Error("away"));
    expect(misfitOf(place, {}, signal)).rejects.toThrow("away");
  });
});

describe("a JSON Schema", () => {
  test("is named by its first fault", () => {
    const faults: [unknown, string][] = [
      [1, ""],
      [{ type: "text" }, "/type"],
      [{ properties: { a: 1 } }, "/properties/a"],
      [{ properties: [] }, "/properties"],
      [{ required: "a" }, "/required"],
      [{ items: [{ minLength: -1 }] }, "/items/0/minLength"],
      [{ anyOf: [] }, "/anyOf"],
      [{ $defs: { "a/b": { multipleOf: 0 } } }, "/$defs/a~1b/multipleOf"],
    ];
    for (const [schema, path] of faults) expect(schemaFault(schema)?.path).toBe(path);
    expect(schemaFault(place)).toBeNull();
  });

  test("has limits on what its checks cost, and a fault says where", () => {
    const groups = (count: number) => Array.from({ length: count }, (_, n) => `(?<g${n}>a)`).join("");
    const faults: [unknown, string, RegExp][] = [
      [{ items: { enum: Array(1_001).fill(1) } }, "/items/enum", /at most 1000 entries/],
      [{ type: Array(1_001).fill("string") }, "/type", /at most 1000 entries/],
      [{ properties: { "a/b": { examples: [Array(1_001).fill(1)] } } }, "/properties/a~1b/examples/0", /at most 1000/],
      [{ anyOf: Array(101).fill({ pattern: "a" }) }, "/anyOf/100/pattern", /at most 100$/],
      [{ properties: { a: { pattern: "a".repeat(2_049) } } }, "/properties/a/pattern", /at most 2048 characters/],
      [{ pattern: groups(11) }, "/pattern", /at most 10 named groups/],
      [{ pattern: `${groups(8_000)}(` }, "/pattern", /at most 2048 characters/],
      [{ patternProperties: { [groups(11)]: true } }, "/patternProperties", /at most 10 named groups/],
      [{ patternProperties: { "(": true } }, "/patternProperties", /must be a regular expression/],
      [{ pattern: "(?<a>b)\\k<c>" }, "/pattern", /must be a regular expression/],
    ];
    for (const [schema, path, message] of faults) {
      const fault = schemaFault(schema);
      expect([fault?.path, fault?.message]).toEqual([path, expect.stringMatching(message)]);
    }
    const taken = [
      { enum: Array(1_000).fill(1) },
      { anyOf: Array(100).fill({ pattern: "a".repeat(2_048) }) },
      { pattern: groups(10) },
      { pattern: `${groups(10)}(?<=a)(?<!a)\\(?<g>` },
      { pattern: "^[\\p{Lu}\\P{Script=Greek}\\-]\\p{L}+$" },
      { pattern: "^[\\w\\-]+$" },
    ];
    for (const schema of taken) expect(schemaFault(schema)).toBeNull();
  });

  test("is read soon, whatever its patterns are", async () => {
    const patterns = [
      "\\p{L}".repeat(400),
      `[${"\\p{L}".repeat(400)}]`,
      "()".repeat(1_000),
      "(".repeat(1_000) + ")".repeat(1_000),
    ];
    const stood = await longestStallMs(() => {
      for (const pattern of patterns) expect(schemaFault({ anyOf: Array(100).fill({ pattern }) })).toBeNull();
    });
    expect(stood).toBeLessThan(400);
  });
});
