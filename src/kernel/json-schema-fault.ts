import type { Misfit } from "./json-schema.ts";
import { isRegExp, namedGroupsOf } from "./regexp-syntax.ts";

/** A list anywhere in a schema has at most this many entries: each may be compared with each value of an answer. */
const listEntriesMax = 1_000;
/** A schema has at most this many patterns, those of `patternProperties` included. */
const patternsMax = 100;
/** A pattern has at most this many characters, as many as are matched at all. */
const patternCharactersMax = 2_048;
/** And this many named groups: the cost of compiling them grows with the square of their number (JavaScriptCore; 20 s for 8,000). */
const namedGroupsMax = 10;

const types = new Set(["null", "boolean", "object", "array", "number", "string", "integer"]);

/** What a keyword's value has to be. */
type Rule = (value: unknown) => string | null;

const isCount: Rule = (value) =>
  Number.isInteger(value) && (value as number) >= 0 ? null : "must be a whole number from 0";
const isNumber: Rule = (value) => (typeof value === "number" ? null : "must be a number");
const isList: Rule = (value) => (Array.isArray(value) ? null : "must be a list");
const isTexts: Rule = (value) =>
  Array.isArray(value) && value.every((item) => typeof item === "string") ? null : "must be a list of texts";
const isText: Rule = (value) => (typeof value === "string" ? null : "must be a text");
const isType: Rule = (value) => {
  const all: unknown[] = Array.isArray(value) ? value : [value];
  return all.length > 0 && all.every((name) => types.has(name as string)) ? null : "must name types of JSON Schema";
};

const rules: Readonly<Record<string, Rule>> = {
  type: isType,
  enum: isList,
  required: isTexts,
  format: isText,
  description: isText,
  title: isText,
  minLength: isCount,
  maxLength: isCount,
  minItems: isCount,
  maxItems: isCount,
  minContains: isCount,
  maxContains: isCount,
  minProperties: isCount,
  maxProperties: isCount,
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  multipleOf: (value) => (typeof value === "number" && value > 0 ? null : "must be a number above 0"),
};
/** Keywords whose value is a schema. */
const schemaKeywords = new Set([
  "additionalProperties",
  "propertyNames",
  "additionalItems",
  "contains",
  "not",
  "if",
  "then",
  "else",
  "unevaluatedProperties",
  "unevaluatedItems",
]);
/** Keywords whose value is an object of schemas. */
const mapKeywords = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
/** Keywords whose value is a list of schemas. */
const listKeywords = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);

/**
 * Returns the first fault of a JSON Schema, with a pointer into it; null when there is none. It is bounded
 * in what its checks cost later: lists, patterns and named groups have limits. Keywords that are not known are left to
 * their reader. `refRule` says what a `$ref` may be.
 */
export function schemaFault(schema: unknown, path = "", refRule: Rule = isText): Misfit | null {
  return longListFault(schema, path) ?? new Reading(refRule).schemaFault(schema, path);
}

/** Returns the first list of a value that is too long. */
function longListFault(value: unknown, path: string): Misfit | null {
  if (typeof value !== "object" || value === null) return null;
  if (Array.isArray(value) && value.length > listEntriesMax)
    return { path, message: `must have at most ${listEntriesMax} entries` };
  for (const [name, inner] of Object.entries(value)) {
    const fault = typeof inner === "object" ? longListFault(inner, `${path}/${pointer(name)}`) : null;
    if (fault !== null) return fault;
  }
  return null;
}

/** One reading of a schema from its begin to its first fault. */
class Reading {
  readonly #refRule: Rule;
  #patterns = 0;

  constructor(refRule: Rule) {
    this.#refRule = refRule;
  }

  schemaFault(schema: unknown, path: string): Misfit | null {
    if (typeof schema === "boolean") return null;
    if (typeof schema !== "object" || schema === null || Array.isArray(schema))
      return { path, message: "must be a JSON Schema: an object, true or false" };
    for (const [keyword, value] of Object.entries(schema)) {
      const fault = this.#keywordFault(keyword, value, `${path}/${pointer(keyword)}`);
      if (fault !== null) return fault;
    }
    return null;
  }

  #keywordFault(keyword: string, value: unknown, path: string): Misfit | null {
    const message = this.#ruleOf(keyword)?.(value) ?? null;
    if (message !== null) return { path, message };
    if (schemaKeywords.has(keyword)) return this.schemaFault(value, path);
    if (keyword === "items") return Array.isArray(value) ? this.#listFault(value, path) : this.schemaFault(value, path);
    if (listKeywords.has(keyword))
      return Array.isArray(value) && value.length > 0
        ? this.#listFault(value, path)
        : { path, message: "must be a list of schemas" };
    return mapKeywords.has(keyword) ? this.#mapFault(keyword, value, path) : null;
  }

  #ruleOf(keyword: string): Rule | undefined {
    if (keyword === "$ref") return this.#refRule;
    if (keyword === "pattern") return (value) => this.#patternFault(value);
    return Object.hasOwn(rules, keyword) ? rules[keyword] : undefined;
  }

  #mapFault(keyword: string, value: unknown, path: string): Misfit | null {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      return { path, message: "must be an object of schemas" };
    for (const [name, schema] of Object.entries(value)) {
      const unread = keyword === "patternProperties" ? this.#patternFault(name) : null;
      // What is too long to be a pattern is too long for a message.
      if (unread !== null) return { path, message: `has a name that is no pattern: it ${unread}` };
      const fault = this.schemaFault(schema, `${path}/${pointer(name)}`);
      if (fault !== null) return fault;
    }
    return null;
  }

  #listFault(schemas: readonly unknown[], path: string): Misfit | null {
    for (const [index, schema] of schemas.entries()) {
      const fault = this.schemaFault(schema, `${path}/${index}`);
      if (fault !== null) return fault;
    }
    return null;
  }

  /** Its text is bounded before anything compiles it. */
  #patternFault(pattern: unknown): string | null {
    if (typeof pattern !== "string") return "must be a text";
    this.#patterns += 1;
    if (this.#patterns > patternsMax) return `is one pattern too many: a schema has at most ${patternsMax}`;
    if (pattern.length > patternCharactersMax) return `must be at most ${patternCharactersMax} characters long`;
    if (namedGroupsOf(pattern) > namedGroupsMax) return `must have at most ${namedGroupsMax} named groups`;
    return isRegExp(pattern) ? null : "must be a regular expression";
  }
}

function pointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
