import { RE2JS } from "re2js";
import { canonicalJson } from "./http/canonical-json.ts";

/** A JSON Schema (2020-12, and draft 7 where it spells the same): an object, or `true` or `false`. */
export type ValueSchema = boolean | { readonly [keyword: string]: unknown };

/** The first thing about a value that does not fit. */
export interface Misfit {
  /** A JSON pointer into the value; empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

/** A check ends undecided after so many steps (a keyword of a subschema, or a few bytes compared or matched): a schema's writer is nobody's friend. */
const stepsMax = 500_000;
/** Schemas that lead into each other are followed this deep. */
const schemaDepthMax = 400;
/** A pattern of more characters is not matched. */
const patternCharactersMax = 2_048;
/** A message quotes at most so many characters of a name. */
const quotedCharactersMax = 100;

/** Thrown when a check takes too long. */
class UndecidedError extends Error {}

/**
 * Returns what of a JSON value does not fit a JSON Schema; null when it fits. A check is bounded
 * in time: one that would take longer counts as a fit. Nothing is fetched: a `$ref` beyond the
 * schema itself fits everything, and so do `format`, `unevaluated…`, and a `pattern` that only a
 * backtracking matcher understands (patterns are matched in linear time).
 */
export function misfitOf(schema: ValueSchema, value: unknown): Misfit | null {
  try {
    return new Check(schema).fit(schema, value, "", 0);
  } catch (error) {
    if (error instanceof UndecidedError) return null;
    throw error;
  }
}

type Keywords = Exclude<ValueSchema, boolean>;
type Fields = Readonly<Record<string, unknown>>;

class Check {
  readonly #root: ValueSchema;
  readonly #patterns = new Map<string, RE2JS | null>();
  #steps = 0;

  constructor(root: ValueSchema) {
    this.#root = root;
  }

  fit(schema: unknown, value: unknown, path: string, depth: number): Misfit | null {
    this.#spend(1);
    if (depth > schemaDepthMax) throw new UndecidedError();
    if (schema === false) return { path, message: "is not allowed" };
    if (!isFields(schema)) return null;
    const own = this.#ownFault(schema, value);
    if (own !== null) return { path, message: own };
    return (
      this.#fitRef(schema, value, path, depth) ??
      (isFields(value) ? this.#fitFields(schema, value, path, depth) : null) ??
      (Array.isArray(value) ? this.#fitItems(schema, value, path, depth) : null) ??
      this.#fitCombined(schema, value, path, depth)
    );
  }

  #spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > stepsMax) throw new UndecidedError();
  }

  /** What is wrong with a value by itself, whatever is in it. */
  #ownFault(schema: Keywords, value: unknown): string | null {
    this.#spend(Object.keys(schema).length);
    const { type } = schema;
    const types = typeof type === "string" ? [type] : Array.isArray(type) ? type : null;
    if (types !== null && !types.some((name) => isOfType(name, value)))
      return `must be ${types.map(named).join(" or ")}`;
    if (Object.hasOwn(schema, "const") && !this.#equal(schema.const, value))
      return `must be ${quoted(JSON.stringify(schema.const) ?? "")}`;
    if (Array.isArray(schema.enum) && !schema.enum.some((choice) => this.#equal(choice, value)))
      return `must be one of ${quoted(schema.enum.map((choice) => JSON.stringify(choice)).join(", "))}`;
    if (typeof value === "number") return numberFault(schema, value);
    if (typeof value === "string") return this.#textFault(schema, value);
    if (Array.isArray(value)) return this.#arrayFault(schema, value);
    return isFields(value) ? fieldsFault(schema, value) : null;
  }

  #equal(left: unknown, right: unknown): boolean {
    if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return left === right;
    const texts = [canonicalJson(left), canonicalJson(right)] as const;
    this.#spend((texts[0].length + texts[1].length) / 8);
    return texts[0] === texts[1];
  }

  #textFault(schema: Keywords, value: string): string | null {
    const { minLength, maxLength, pattern } = schema;
    if (isNumber(minLength) || isNumber(maxLength)) {
      this.#spend(value.length / 8);
      const characters = value.length <= 1 ? value.length : [...value].length;
      if (isNumber(minLength) && characters < minLength) return `must have at least ${minLength} characters`;
      if (isNumber(maxLength) && characters > maxLength) return `must have at most ${maxLength} characters`;
    }
    if (typeof pattern === "string" && !this.#matches(pattern, value))
      return `must match the pattern ${quoted(pattern)}`;
    return null;
  }

  #arrayFault(schema: Keywords, value: readonly unknown[]): string | null {
    const { minItems, maxItems } = schema;
    if (isNumber(minItems) && value.length < minItems) return `must have at least ${minItems} items`;
    if (isNumber(maxItems) && value.length > maxItems) return `must have at most ${maxItems} items`;
    if (schema.uniqueItems !== true) return null;
    const texts = value.map((item) => canonicalJson(item));
    this.#spend(texts.reduce((sum, text) => sum + text.length, 0) / 8);
    return new Set(texts).size < texts.length ? "must not have an item twice" : null;
  }

  /** Returns whether a text matches; true for a pattern that cannot be matched in linear time. */
  #matches(pattern: string, value: string): boolean {
    let matcher = this.#patterns.get(pattern);
    if (matcher === undefined) {
      this.#spend(pattern.length * 20);
      matcher = compiled(pattern);
      this.#patterns.set(pattern, matcher);
    }
    if (matcher === null) return true;
    this.#spend((value.length * matcher.programSize()) / 4);
    return matcher.test(value);
  }

  #fitRef(schema: Keywords, value: unknown, path: string, depth: number): Misfit | null {
    const { $ref } = schema;
    if (typeof $ref !== "string") return null;
    const target = resolved(this.#root, $ref);
    return target === undefined ? null : this.fit(target, value, path, depth + 1);
  }

  #fitFields(schema: Keywords, value: Fields, path: string, depth: number): Misfit | null {
    const { properties, patternProperties, additionalProperties, propertyNames } = schema;
    const known = isFields(properties) ? properties : {};
    const patterns = isFields(patternProperties) ? Object.entries(patternProperties) : [];
    for (const [name, field] of Object.entries(value)) {
      this.#spend(1);
      const at = `${path}/${quoted(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;
      const isKnown = Object.hasOwn(known, name);
      const matching = patterns.filter(([pattern]) => this.#matches(pattern, name));
      const schemas = [...(isKnown ? [known[name]] : []), ...matching.map(([, inner]) => inner)];
      if (schemas.length === 0 && additionalProperties !== undefined) schemas.push(additionalProperties);
      if (schemas.length === 1 && schemas[0] === false) return { path: at, message: "is not a known field" };
      for (const inner of schemas) {
        const misfit = this.fit(inner, field, at, depth + 1);
        if (misfit !== null) return misfit;
      }
      const unnamed = propertyNames === undefined ? null : this.fit(propertyNames, name, at, depth + 1);
      if (unnamed !== null) return unnamed;
    }
    return this.#fitDependents(schema, value, path, depth);
  }

  #fitDependents(schema: Keywords, value: Fields, path: string, depth: number): Misfit | null {
    for (const keyword of ["dependentRequired", "dependentSchemas", "dependencies"]) {
      const rules = schema[keyword];
      if (!isFields(rules)) continue;
      for (const [name, rule] of Object.entries(rules)) {
        if (!Object.hasOwn(value, name)) continue;
        const missing = Array.isArray(rule) ? rule.find((other) => !Object.hasOwn(value, other)) : undefined;
        if (missing !== undefined) return { path: `${path}/${quoted(String(missing))}`, message: "is required" };
        const misfit = Array.isArray(rule) ? null : this.fit(rule, value, path, depth + 1);
        if (misfit !== null) return misfit;
      }
    }
    return null;
  }

  #fitItems(schema: Keywords, value: readonly unknown[], path: string, depth: number): Misfit | null {
    const { items, prefixItems, additionalItems, contains } = schema;
    // Draft 7 has the schemas of the first items in `items`, and that of the rest in `additionalItems`.
    const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
    const rest = Array.isArray(items) ? additionalItems : items;
    for (const [index, item] of value.entries()) {
      const inner = index < first.length ? first[index] : rest;
      const misfit = inner === undefined ? null : this.fit(inner, item, `${path}/${index}`, depth + 1);
      if (misfit !== null) return misfit;
    }
    if (contains === undefined) return null;
    const found = value.filter((item) => this.fit(contains, item, path, depth + 1) === null).length;
    const least = isNumber(schema.minContains) ? schema.minContains : 1;
    const most = isNumber(schema.maxContains) ? schema.maxContains : Number.POSITIVE_INFINITY;
    return found < least || found > most ? { path, message: "does not contain the items that it must" } : null;
  }

  #fitCombined(schema: Keywords, value: unknown, path: string, depth: number): Misfit | null {
    const { allOf, anyOf, oneOf, not } = schema;
    const fits = (inner: unknown) => this.fit(inner, value, path, depth + 1) === null;
    for (const inner of Array.isArray(allOf) ? allOf : []) {
      const misfit = this.fit(inner, value, path, depth + 1);
      if (misfit !== null) return misfit;
    }
    if (Array.isArray(anyOf) && !anyOf.some(fits)) return { path, message: "fits none of the schemas of anyOf" };
    if (Array.isArray(oneOf) && oneOf.filter(fits).length !== 1)
      return { path, message: "must fit exactly one of the schemas of oneOf" };
    if (not !== undefined && fits(not)) return { path, message: "fits a schema that it must not fit" };
    if (schema.if === undefined) return null;
    const then = fits(schema.if) ? schema.then : schema.else;
    return then === undefined ? null : this.fit(then, value, path, depth + 1);
  }
}

function numberFault(schema: Keywords, value: number): string | null {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (isNumber(minimum) && value < minimum) return `must be at least ${minimum}`;
  if (isNumber(maximum) && value > maximum) return `must be at most ${maximum}`;
  if (isNumber(exclusiveMinimum) && value <= exclusiveMinimum) return `must be more than ${exclusiveMinimum}`;
  if (isNumber(exclusiveMaximum) && value >= exclusiveMaximum) return `must be less than ${exclusiveMaximum}`;
  if (!isNumber(multipleOf) || multipleOf <= 0) return null;
  // 0.3 is a multiple of 0.1, although 0.3 / 0.1 is not whole in binary.
  const times = value / multipleOf;
  const isMultiple = Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times));
  return isMultiple ? null : `must be a multiple of ${multipleOf}`;
}

function fieldsFault(schema: Keywords, value: Fields): string | null {
  const { required, minProperties, maxProperties } = schema;
  const missing = Array.isArray(required) ? required.filter((name) => !Object.hasOwn(value, name)) : [];
  if (missing.length > 0) return `must have ${quoted(missing.join(", "))}`;
  if (!isNumber(minProperties) && !isNumber(maxProperties)) return null;
  const count = Object.keys(value).length;
  if (isNumber(minProperties) && count < minProperties) return `must have at least ${minProperties} fields`;
  return isNumber(maxProperties) && count > maxProperties ? `must have at most ${maxProperties} fields` : null;
}

/** Returns a rule for the references of a schema: each has to lead to a part of it, because nothing is fetched. */
export function refsWithin(root: ValueSchema): (ref: unknown) => string | null {
  return (ref) =>
    typeof ref === "string" && resolved(root, ref) !== undefined
      ? null
      : "must lead to a part of this schema, as #/$defs/name does; nothing is fetched";
}

/** Returns the subschema that a reference within a schema names; undefined for any other reference. */
function resolved(root: ValueSchema, ref: string): unknown {
  if (ref === "#") return root;
  if (!ref.startsWith("#/")) return undefined;
  let found: unknown = root;
  for (const step of ref.slice(2).split("/")) {
    const name = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Fields)[name];
  }
  return found;
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

function compiled(pattern: string): RE2JS | null {
  if (pattern.length > patternCharactersMax) return null;
  try {
    return RE2JS.compile(RE2JS.translateRegExp(pattern));
  } catch {
    return null;
  }
}

function isOfType(name: unknown, value: unknown): boolean {
  switch (name) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isFields(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === name;
  }
}

const names: Fields = {
  string: "a text",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  object: "an object",
  array: "a list",
};

function named(type: unknown): string {
  return Object.hasOwn(names, String(type)) ? String(names[String(type)]) : String(type);
}

function quoted(text: string): string {
  return text.length <= quotedCharactersMax ? text : `${text.slice(0, quotedCharactersMax).toWellFormed()}…`;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}
