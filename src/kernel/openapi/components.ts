import { isDeepStrictEqual } from "node:util";
import type { TSchema } from "@sinclair/typebox";
import { exampleOf } from "./example.ts";

/** A JSON schema as the document has it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Our own words that only the checks or the examples read. */
const ownWords = new Set(["bytesMax", "errorMessage", "example", "shown", "title", "unknownFields"]);
/** Words that hold one schema, a list of schemas, or schemas by name. */
const schemaWords = new Set(["items", "additionalProperties", "contentSchema", "not"]);
const listWords = new Set(["anyOf", "allOf", "oneOf"]);
const mapWords = new Set(["properties"]);

/** The schemas of a document that have a name, and references to them. */
export class Components {
  readonly #schemas = new Map<string, JsonSchema>();

  /** The named schemas so far, by name, each with an example. */
  get schemas(): Readonly<Record<string, JsonSchema>> {
    const sorted = [...this.#schemas].sort(([left], [right]) => (left < right ? -1 : 1));
    return Object.fromEntries(sorted);
  }

  /** The schema as the document shows it: a reference where it has a name. Throws an error when two schemas have one name. */
  describe(schema: TSchema): JsonSchema {
    if (schema.shown !== undefined) return this.describe(schema.shown as TSchema);
    const name = schema.title;
    if (name === undefined) return this.#plain(schema);
    const described = { ...this.#plain(schema), examples: [exampleOf(schema)] };
    const known = this.#schemas.get(name);
    if (known !== undefined && !isDeepStrictEqual(known, described))
      throw new Error(`Two different schemas are named ${name}.`);
    this.#schemas.set(name, described);
    return { $ref: `#/components/schemas/${name}` };
  }

  #plain(schema: TSchema): JsonSchema {
    const choices = choicesOf(schema);
    if (choices !== null) return { type: "string", enum: choices };
    const { patternProperties, ...words } = schema as TSchema & { patternProperties?: Record<string, TSchema> };
    const values = Object.values(patternProperties ?? {});
    const described = Object.entries(words)
      .filter(([word, value]) => !ownWords.has(word) && value !== undefined)
      .map(([word, value]) => [word, this.#word(word, value)] as const);
    // TypeBox writes a record as a pattern that every name fits.
    const further = values[0] === undefined ? [] : [["additionalProperties", this.describe(values[0])] as const];
    return Object.fromEntries([...described, ...further]);
  }

  #word(word: string, value: unknown): unknown {
    if (schemaWords.has(word) && typeof value === "object") return this.describe(value as TSchema);
    if (listWords.has(word)) return (value as TSchema[]).map((one) => this.describe(one));
    if (mapWords.has(word))
      return Object.fromEntries(
        Object.entries(value as Record<string, TSchema>).map(([name, one]) => [name, this.describe(one)]),
      );
    return value;
  }
}

/** The texts of a choice among fixed texts; null for any other schema. */
function choicesOf(schema: TSchema): readonly string[] | null {
  const options: readonly TSchema[] = schema.anyOf ?? [];
  const isChoice = options.length > 0 && options.every((option) => typeof option.const === "string");
  return isChoice ? options.map((option) => option.const) : null;
}
