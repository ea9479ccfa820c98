import fc from "fast-check";
import { hostile } from "./hostile.ts";

/** A JSON schema as the OpenAPI document has it; only the words that it uses. */
export interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: object;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Ids that exist, by prefix. */
export type KnownIds = Readonly<Record<string, readonly string[]>>;

/** Lengths and numbers right at the bounds and right behind them. */
const around = (min: number, max: number) => fc.constantFrom(min, min - 1, max, max + 1, Math.min(min + 1, max));
const longest = 12_000;

function textOf({ pattern = "", minLength = 0, maxLength = 64 }: Schema, ids: KnownIds): fc.Arbitrary<unknown> {
  const prefix = /^\^\(?([a-z]+)_\[0-9a-z\]/.exec(pattern)?.[1];
  if (prefix !== undefined) return idOf(prefix, ids);
  return around(minLength, Math.min(maxLength, longest)).map((length) => "y".repeat(Math.max(0, length)));
}

/** An id that exists, that nothing has, or that is none. */
export function idOf(prefix: string, ids: KnownIds): fc.Arbitrary<string> {
  const zeros = "0".repeat(24);
  return fc.constantFrom(...(ids[prefix] ?? []), `${prefix}_${zeros}`, `${prefix}_${zeros}0`, `xx_${zeros}`, prefix);
}

/** Values of a schema, at its bounds and a step beyond, with something hostile in their places now and then. */
export function fromSchema(schema: Schema, ids: KnownIds): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 6, arbitrary: kindOf(schema, ids) }, { weight: 1, arbitrary: hostile });
}

function kindOf(schema: Schema, ids: KnownIds): fc.Arbitrary<unknown> {
  if ("const" in schema) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((option) => kindOf(option, ids)));
  switch (schema.type) {
    case "string":
      return textOf(schema, ids);
    case "integer":
    case "number":
      return around(schema.minimum ?? 0, schema.maximum ?? 1_000);
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return fc.array(fromSchema(schema.items ?? {}, ids), { maxLength: 3 });
    case "object":
      return schema.properties === undefined
        ? fc.dictionary(fc.string({ maxLength: 8 }), hostile, { maxKeys: 3 })
        : fieldsOf(schema.properties, schema.required ?? [], ids);
    default:
      return hostile;
  }
}

/** Objects that mostly have what is required and little else. */
function fieldsOf(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[],
  ids: KnownIds,
): fc.Arbitrary<Record<string, unknown>> {
  const fields = Object.entries(properties).map(([name, schema]) =>
    fc.tuple(
      fc.constant(name),
      fromSchema(schema, ids),
      fc.integer({ min: 0, max: 9 }).map((dice) => (required.includes(name) ? dice > 0 : dice > 6)),
    ),
  );
  const extra = fc.option(fc.tuple(fc.string({ maxLength: 8 }), hostile), { freq: 9 });
  return fc.tuple(fc.tuple(...fields), extra).map(([all, more]) => {
    const given = all.filter(([, , isGiven]) => isGiven).map(([name, value]) => [name, value] as const);
    return Object.fromEntries(more === null ? given : [...given, more]);
  });
}
