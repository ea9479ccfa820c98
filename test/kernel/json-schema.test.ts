import { describe, expect, test } from "bun:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { misfitOf, type ValueSchema } from "../../src/kernel/json-schema.ts";
import { schemaFault } from "../../src/kernel/json-schema-fault.ts";

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
  test("fits, or says where it does not and why", () => {
    expect(misfitOf(place, { city: "Rome", days: 7, tags: ["a", "b"], tree: { next: { next: {} } } })).toBeNull();
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
    for (const [value, path, message] of faults) expect(misfitOf(place, value)).toEqual({ path, message });
  });

  test("agrees with a whole validator on small schemas", () => {
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
    fc.assert(
      fc.property(schema, near, (rule, tried) => {
        const ajv = new Ajv2020({ strict: false });
        expect(misfitOf(rule, tried) === null).toBe(ajv.validate(rule, tried));
      }),
      { numRuns: 60 },
    );
  }, 60_000);

  test("is decided soon, whatever the schema is", () => {
    const defs = Object.fromEntries(
      Array.from({ length: 150 }, (_, n) => {
        const next = { $ref: `#/$defs/n${n + 1}` };
        return [`n${n}`, { anyOf: [{ allOf: [next, { type: "string" }] }, next] }];
      }),
    );
    const hostile: [ValueSchema, unknown][] = [
      [{ $ref: "#/$defs/n0", $defs: { ...defs, n150: false } }, {}],
      [{ $ref: "#" }, 1],
      [{ pattern: "(a+)+$" }, `${"a".repeat(200_000)}b`],
      [{ pattern: "(.{900}a){1}" }, "b".repeat(2_000_000)],
      [{ pattern: "^(?=a)b" }, "b"],
      [{ items: { $ref: "https://elsewhere.example/schema" } }, [1]],
    ];
    for (const [schema, value] of hostile) {
      const before = performance.now();
      misfitOf(schema, value);
      expect(performance.now() - before).toBeLessThan(5_000);
    }
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
});
