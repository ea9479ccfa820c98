import { cleanText } from "../../messages/text.ts";
import type { SchemaRules } from "./rules.ts";
import { type InputSchema, pointerStepsMax, SchemaPointers } from "./schema-refs.ts";

/** The schema of a tool's input as a vendor takes it, or why the vendor cannot take it. */
export type FitSchema =
  | {
      readonly schema: InputSchema;
      /** The input's fields that are sent by another name: by that name, their own. */
      readonly renamed: ReadonlyMap<string, string>;
    }
  | { readonly reason: string };

/** A schema of more schemas than this is not offered; it takes 20 ms to go through. */
const schemasMax = 5_000;
/** Schemas within schemas, at most. */
const depthMax = 64;

class Unfit extends Error {}

/**
 * Returns the schema of a tool's input as a vendor takes it. It says the same as before: what is missing is added
 * (`properties`, `items`, a property that is required), what no JSON InputSchema has is left out (null, keywords with
 * values of another type, types that there are not), older drafts are written as of 2020-12, and references lead to
 * `$defs`. What cannot be said to the vendor is a reason.
 */
export function fitSchema(sent: unknown, rules: SchemaRules): FitSchema {
  try {
    const fitter = new SchemaFitter(sent, rules);
    return renameFields(fitter.top(), rules.fieldName);
  } catch (error) {
    if (error instanceof Unfit) return { reason: error.message };
    throw error;
  }
}

const types = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);
const texts = new Set(["title", "description", "format", "pattern", "contentEncoding", "contentMediaType"]);
const numbers = new Set([
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"],
]);
const flags = new Set(["uniqueItems", "deprecated", "readOnly", "writeOnly", "nullable"]);
const maps = new Set(["patternProperties", "dependentSchemas"]);
const lists = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const singles = new Set(["not", "if", "then", "else", "contains", "propertyNames"]);
/** Those that may be true or false. */
const openSingles = new Set(["additionalProperties", "unevaluatedProperties", "unevaluatedItems"]);
/** Of the document and not of the values; references are written as to `$defs`. */
const ofDocument = new Set([
  "$schema",
  "$id",
  "id",
  "$comment",
  "$anchor",
  "$vocabulary",
  "definitions",
  "$defs",
  "$ref",
]);

class SchemaFitter {
  readonly #root: InputSchema;
  readonly #rules: SchemaRules;
  readonly #pointers: SchemaPointers;
  /** References that are being replaced by what they lead to. */
  readonly #active = new Set<string>();
  #left = schemasMax;

  constructor(root: unknown, rules: SchemaRules) {
    this.#root = isRecord(root) ? root : {};
    this.#rules = rules;
    this.#pointers = new SchemaPointers(this.#root);
  }

  /** Returns the whole schema: of an object, with `$defs` where anything refers to them. */
  top(): InputSchema {
    const whole = mergedTop(this.#pointers.topOf(this.#root));
    const typed: InputSchema = {};
    setType(typed, whole.type);
    if (typed.type !== undefined && !includesType(typed, "object"))
      throw new Unfit("Its input schema is not that of an object.");
    const top = this.#schema({ ...whole, type: "object" }, 0);
    if (combining.some((keyword) => Object.hasOwn(top, keyword)))
      throw new Unfit("Its input schema combines others at its top.");
    const defs: [string, unknown][] = [];
    // What is referred to may refer to more.
    for (const name of this.#pointers.used) defs.push([name, this.#schema(this.#pointers.definition(name), 1)]);
    return defs.length === 0 ? top : { ...top, $defs: Object.fromEntries(defs) };
  }

  /** Returns a schema; true is one without a word, and so is what is none. */
  #schema(sent: unknown, depth: number): InputSchema {
    if (--this.#left < 0) throw new Unfit(`Its input schema has more than ${schemasMax} schemas.`);
    if (depth > depthMax) throw new Unfit(`Its input schema is more than ${depthMax} levels deep.`);
    if (sent === false) return { not: {} };
    if (!isRecord(sent)) return {};
    if (typeof sent.$ref === "string") return this.#reference(sent.$ref, sent, depth);
    const schema: InputSchema = {};
    for (const [keyword, value] of Object.entries(sent)) this.#keyword(schema, keyword, value, depth);
    draft4Bounds(schema, sent);
    this.#object(schema, sent, depth);
    this.#array(schema, sent, depth);
    const typed = this.#rules.typesInBranches ? withTypes(schema) : schema;
    return this.#rules.aloneUnions ? alone(typed) : typed;
  }

  /** Returns what a reference is sent as: itself, or what it leads to. One that leads nowhere, or to itself, says nothing. */
  #reference(reference: string, sent: InputSchema, depth: number): InputSchema {
    const target = this.#pointers.follow(reference);
    if (typeof target === "string") return { $ref: target, ...(this.#rules.aloneUnions ? {} : annotations(sent)) };
    if (this.#pointers.steps > pointerStepsMax)
      throw new Unfit(`The references of its input schema have more than ${pointerStepsMax} steps together.`);
    if (target === null || this.#active.has(reference)) return annotations(sent);
    this.#active.add(reference);
    const schema = this.#schema({ ...target, ...annotations(sent) }, depth + 1);
    this.#active.delete(reference);
    return schema;
  }

  /** Adds a keyword where its value is what that keyword has. */
  #keyword(schema: InputSchema, keyword: string, value: unknown, depth: number): void {
    if (value === null && keyword !== "default" && keyword !== "const") return;
    if (ofDocument.has(keyword) || apart.has(keyword) || keyword === "__proto__") return;
    if (texts.has(keyword)) this.#text(schema, keyword, value);
    else if (numbers.has(keyword)) {
      if (typeof value === "number") schema[keyword] = value;
    } else if (flags.has(keyword)) {
      if (typeof value === "boolean") schema[keyword] = value;
    } else if (maps.has(keyword)) {
      if (isRecord(value)) schema[keyword] = this.#map(value, depth);
    } else if (lists.has(keyword)) {
      if (Array.isArray(value) && value.length > 0) schema[keyword] = value.map((one) => this.#schema(one, depth + 1));
    } else if (singles.has(keyword)) {
      if (isSchema(value)) schema[keyword] = this.#schema(value, depth + 1);
    } else if (openSingles.has(keyword)) {
      if (typeof value === "boolean") schema[keyword] = value;
      else if (isRecord(value)) schema[keyword] = this.#schema(value, depth + 1);
    } else if (keyword === "enum") this.#values(schema, value);
    else if (keyword === "type") setType(schema, value);
    else if (keyword !== "examples" || Array.isArray(value)) schema[keyword] = value;
  }

  #text(schema: InputSchema, keyword: string, value: unknown): void {
    if (typeof value !== "string") return;
    const { formats } = this.#rules;
    if (keyword === "format" && formats !== null && !formats.includes(value)) return;
    schema[keyword] = cleanText(value);
  }

  #values(schema: InputSchema, value: unknown): void {
    if (!Array.isArray(value)) return;
    const { emptyValues } = this.#rules;
    const values = unique(value).filter((one) => one !== "" || emptyValues);
    if (values.length > 0) schema.enum = values;
  }

  #map(value: InputSchema, depth: number): InputSchema {
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [cleanText(name), this.#schema(one, depth + 1)]),
    );
  }

  /** `properties` stands wherever an object is, and has all that is required. */
  #object(schema: InputSchema, sent: InputSchema, depth: number): void {
    const properties = isRecord(sent.properties) ? this.#map(sent.properties, depth) : null;
    const required = requiredOf(sent);
    if (properties === null && required.length === 0 && !includesType(schema, "object")) return;
    const all = properties ?? {};
    for (const name of required) if (!Object.hasOwn(all, name)) all[name] = {};
    schema.properties = all;
    if (required.length > 0) schema.required = required;
  }

  /** `items` stands wherever an array is. A list of them is what 2020-12 calls `prefixItems`. */
  #array(schema: InputSchema, sent: InputSchema, depth: number): void {
    const { items, additionalItems } = sent;
    if (Array.isArray(items)) {
      if (items.length > 0) schema.prefixItems = items.map((one) => this.#schema(one, depth + 1));
      schema.items = additionalItems === false ? { not: {} } : this.#schema(additionalItems, depth + 1);
    } else if (isSchema(items)) schema.items = this.#schema(items, depth + 1);
    else if (includesType(schema, "array")) schema.items = {};
  }
}

/** Keywords that are handled together with others. */
const apart = new Set(["properties", "required", "items", "additionalItems"]);
const combining = ["anyOf", "oneOf", "allOf", "not"];

/** Returns a schema whose only branch at the top, or whose branches of objects that all hold, are part of it, where they can be. */
function mergedTop(top: InputSchema): InputSchema {
  let merged = top;
  for (const keyword of ["anyOf", "oneOf", "allOf"]) {
    const branches = merged[keyword];
    if (!Array.isArray(branches) || (branches.length !== 1 && keyword !== "allOf")) continue;
    const { [keyword]: _, ...rest } = merged;
    const all = branches.every(isPlainObject) ? joinedObjects(rest, branches as InputSchema[]) : null;
    if (all !== null) merged = all;
  }
  return merged;
}

const objectKeywords = new Set(["type", "properties", "required", "title", "description", "additionalProperties"]);

/** Whether a branch says nothing but which fields an object has, and which of them it needs. */
function isPlainObject(branch: unknown): boolean {
  if (!isRecord(branch) || branch.additionalProperties === false || isRecord(branch.additionalProperties)) return false;
  return Object.keys(branch).every((keyword) => objectKeywords.has(keyword)) && (branch.type ?? "object") === "object";
}

/** Returns one schema of what all say; null where two of them say something of one field. */
function joinedObjects(top: InputSchema, branches: readonly InputSchema[]): InputSchema | null {
  const all = [top, ...branches].filter(({ properties }) => isRecord(properties));
  const entries = all.flatMap(({ properties }) => Object.entries(properties as InputSchema));
  if (new Set(entries.map(([name]) => name)).size < entries.length) return null;
  // Not even a field of a branch would be allowed.
  if (top.additionalProperties === false && branches.some(({ properties }) => isRecord(properties))) return null;
  const required = unique([top, ...branches].flatMap(({ required: names }) => (Array.isArray(names) ? names : [])));
  return { ...top, properties: Object.fromEntries(entries), ...(required.length === 0 ? {} : { required }) };
}

/** Draft 4 says by true that a bound itself is left out. */
function draft4Bounds(schema: InputSchema, sent: InputSchema): void {
  for (const [bound, exclusive] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const) {
    if (sent[exclusive] !== true || typeof schema[bound] !== "number") continue;
    schema[exclusive] = schema[bound];
    delete schema[bound];
  }
}

/** Returns the fields that are required: of the list, or, as in draft 3, those that say so themselves. */
function requiredOf({ required, properties }: InputSchema): string[] {
  const named = Array.isArray(required) ? required.filter((name): name is string => typeof name === "string") : [];
  const own = isRecord(properties) ? Object.entries(properties) : [];
  const saying = own.flatMap(([name, one]) => (isRecord(one) && one.required === true ? [name] : []));
  return unique([...named, ...saying].map(cleanText)).filter((name) => name !== "__proto__");
}

function setType(schema: InputSchema, value: unknown): void {
  if (typeof value === "string" && types.has(value)) schema.type = value;
  if (!Array.isArray(value)) return;
  const known = unique(value.filter((one) => types.has(one)));
  if (known.length > 0) schema.type = known.length === 1 ? known[0] : known;
}

function includesType({ type }: InputSchema, name: string): boolean {
  return type === name || (Array.isArray(type) && type.includes(name));
}

/** Returns a schema with the type that its other keywords imply, and with none beside `anyOf`, whose branches have it instead. */
function withTypes(schema: InputSchema): InputSchema {
  const { anyOf, ...rest } = schema;
  if (Array.isArray(anyOf)) {
    if (rest.type === undefined) return schema;
    const { type, ...parent } = rest;
    const branches = anyOf.map((branch: InputSchema) =>
      "type" in branch || "$ref" in branch || "anyOf" in branch ? branch : { ...branch, type },
    );
    return { ...parent, anyOf: branches };
  }
  if (schema.type !== undefined || combining.some((keyword) => keyword in schema)) return schema;
  const type = impliedType(schema);
  return type === null ? schema : { ...schema, type };
}

/** Returns a schema with nothing beside `anyOf`: its branches say what it is about. */
function alone(schema: InputSchema): InputSchema {
  const { anyOf, title: _, description, default: __, ...rest } = schema;
  if (!Array.isArray(anyOf) || Object.keys(rest).length > 0) return schema;
  if (description === undefined) return { anyOf };
  return {
    anyOf: anyOf.map((branch: InputSchema) =>
      "$ref" in branch || "anyOf" in branch ? branch : { description, ...branch },
    ),
  };
}

function impliedType({ enum: values, const: value, properties, items }: InputSchema): string | null {
  const said = Array.isArray(values) ? values : value === undefined ? [] : [value];
  const [type, ...others] = unique(said.map(typeOf));
  if (type !== undefined) return others.length === 0 ? type : null;
  // Any other value would fit as well, but none that a model gives here.
  if (properties !== undefined) return "object";
  return items === undefined ? null : "array";
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** Returns a schema whose fields have names that the vendor takes. */
function renameFields(schema: InputSchema, fits: RegExp | null): FitSchema {
  const renamed = new Map<string, string>();
  const properties = schema.properties as InputSchema;
  const names = Object.keys(properties);
  if (fits === null || names.every((name) => fits.test(name))) return { schema, renamed };
  const taken = new Set(names.filter((name) => fits.test(name)));
  const sentNames = new Map<string, string>();
  for (const name of names) {
    if (fits.test(name)) continue;
    const plain = name.slice(0, fieldLengthMax).replaceAll(/[^a-zA-Z0-9_.-]/g, "_") || "field";
    let sent = plain;
    for (let count = 2; taken.has(sent); count++) sent = `${plain}_${count}`;
    taken.add(sent);
    renamed.set(sent, name);
    sentNames.set(name, sent);
  }
  const sentOf = (name: string) => sentNames.get(name) ?? name;
  const fields = Object.entries(properties).map(([name, field]) => [sentOf(name), field]);
  const required = Array.isArray(schema.required) ? { required: schema.required.map(sentOf) } : {};
  return { schema: { ...schema, properties: Object.fromEntries(fields), ...required }, renamed };
}

/** Leaves room for a number within the 64 characters that a field's name may have. */
const fieldLengthMax = 56;

function annotations({ title, description }: InputSchema): InputSchema {
  return {
    ...(typeof title === "string" ? { title: cleanText(title) } : {}),
    ...(typeof description === "string" ? { description: cleanText(description) } : {}),
  };
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}

function isSchema(value: unknown): value is InputSchema | boolean {
  return typeof value === "boolean" || isRecord(value);
}

function isRecord(value: unknown): value is InputSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
