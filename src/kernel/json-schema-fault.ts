import type { Misfit } from "./json-schema.ts";

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

const isPattern: Rule = (value) => {
  if (typeof value !== "string") return "must be a text";
  return isExpression(value, "u") || isExpression(value, "") ? null : "must be a regular expression";
};

function isExpression(pattern: string, flags: string): boolean {
  try {
    return new RegExp(pattern, flags) !== null;
  } catch {
    return false;
  }
}

const rules: Readonly<Record<string, Rule>> = {
  type: isType,
  enum: isList,
  required: isTexts,
  pattern: isPattern,
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
 * Returns the first fault of a JSON Schema, with a pointer into it; null when there is none.
 * Keywords that are not known are left to whoever reads them. `refRule` says what a `$ref` may be.
 */
export function schemaFault(schema: unknown, path = "", refRule: Rule = isText): Misfit | null {
  if (typeof schema === "boolean") return null;
  if (typeof schema !== "object" || schema === null || Array.isArray(schema))
    return { path, message: "must be a JSON Schema: an object, true or false" };
  for (const [keyword, value] of Object.entries(schema)) {
    const fault = keywordFault(keyword, value, `${path}/${pointer(keyword)}`, refRule);
    if (fault !== null) return fault;
  }
  return null;
}

function keywordFault(keyword: string, value: unknown, path: string, refRule: Rule): Misfit | null {
  const rule = keyword === "$ref" ? refRule : Object.hasOwn(rules, keyword) ? rules[keyword] : undefined;
  const message = rule?.(value) ?? null;
  if (message !== null) return { path, message };
  if (schemaKeywords.has(keyword)) return schemaFault(value, path, refRule);
  if (keyword === "items")
    return Array.isArray(value) ? listFault(value, path, refRule) : schemaFault(value, path, refRule);
  if (listKeywords.has(keyword))
    return Array.isArray(value) && value.length > 0
      ? listFault(value, path, refRule)
      : { path, message: "must be a list of schemas" };
  if (!mapKeywords.has(keyword)) return null;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { path, message: "must be an object of schemas" };
  for (const [name, schema] of Object.entries(value)) {
    const fault = schemaFault(schema, `${path}/${pointer(name)}`, refRule);
    if (fault !== null) return fault;
  }
  return null;
}

function listFault(schemas: readonly unknown[], path: string, refRule: Rule): Misfit | null {
  for (const [index, schema] of schemas.entries()) {
    const fault = schemaFault(schema, `${path}/${index}`, refRule);
    if (fault !== null) return fault;
  }
  return null;
}

function pointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
