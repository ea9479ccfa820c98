import { inSlices, OutOfTimeError, type SliceClock, type SlicedWork } from "./async/slices.ts";
import { canonicalJson } from "./http/canonical-json.ts";
import { isFields, isNumber, isOfType, numberFault, quoted, typeNamed } from "./json-schema-facts.ts";
import { resolved } from "./json-schema-refs.ts";
import { LinearPattern } from "./linear-pattern.ts";

/** A JSON Schema (2020-12, and draft 7 where it spells the same): an object, or `true` or `false`. */
export type ValueSchema = boolean | { readonly [keyword: string]: unknown };

/** The first thing about a value that does not fit. */
export interface Misfit {
  /** A JSON pointer into the value; empty for the value itself. */
  readonly path: string;
  readonly message: string;
}

/** A check may take this much time of the event loop, in all of its slices together. An answer of 100,000 values takes some 0.1 s with a common schema. */
const checkMsMax = 2_000;
/** Schemas that lead into each other are followed this deep; each level of a value takes two or three. */
const schemaDepthMax = 1_000;
/** The patterns of a check that stay compiled have this many instructions together, each of which takes some 200 bytes. */
const keptPatternsSizeMax = 50_000;

/** A check of a value that took longer than it may, or led into itself. */
export class UncheckedError extends Error {
  override readonly name = "UncheckedError";
}

/** Returns whether an error is, or has as a cause, that a check took too long. */
export function isUnchecked(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof UncheckedError) return true;
  return false;
}

/**
 * Returns what of a JSON value does not fit a JSON Schema; null when it fits. Others go on meanwhile: it is
 * done in slices, in which tenants take turns. Nothing is fetched: a `$ref` beyond the schema itself fits
 * everything, and so do `format`, `unevaluated…`, and a `pattern` that is too large or that only a backtracking matcher
 * understands (patterns are matched in linear time). Throws `UncheckedError` for a check that takes more than `checkMsMax`.
 */
export async function misfitOf(schema: ValueSchema, value: unknown, signal?: AbortSignal): Promise<Misfit | null> {
  try {
    return await inSlices({ msMax: checkMsMax, ...(signal && { signal }) }, (clock) => check(schema, value, clock));
  } catch (error) {
    throw error instanceof OutOfTimeError ? new UncheckedError() : error;
  }
}

/** Does what `misfitOf` does, as sliced work. */
export function* check(schema: ValueSchema, value: unknown, clock: SliceClock): SlicedWork<Misfit | null> {
  const found = yield* new Check(schema, clock).fit(schema, value, "", 0);
  return found === null ? null : { path: found.path, message: found.message() };
}

/** A misfit whose message is put together only when it is the one that is told: of most schemas of `anyOf` it is not. */
interface Found {
  readonly path: string;
  readonly message: () => string;
}

type Keywords = Exclude<ValueSchema, boolean>;
type Fields = Readonly<Record<string, unknown>>;
type Message = () => string;

class Check {
  readonly #root: ValueSchema;
  readonly #clock: SliceClock;
  readonly #refs = new Map<string, unknown>();
  readonly #patterns = new Map<string, LinearPattern | null>();
  #patternsSize = 0;

  constructor(root: ValueSchema, clock: SliceClock) {
    this.#root = root;
    this.#clock = clock;
  }

  *fit(schema: unknown, value: unknown, path: string, depth: number): SlicedWork<Found | null> {
    if (this.#clock.isOver(8)) yield;
    if (depth > schemaDepthMax) throw new UncheckedError();
    if (schema === false) return { path, message: () => "is not allowed" };
    if (!isFields(schema)) return null;
    const own = yield* this.#ownFault(schema, value);
    if (own !== null) return { path, message: own };
    return (
      (yield* this.#fitRef(schema, value, path, depth)) ??
      (isFields(value) ? yield* this.#fitFields(schema, value, path, depth) : null) ??
      (Array.isArray(value) ? yield* this.#fitItems(schema, value, path, depth) : null) ??
      (yield* this.#fitCombined(schema, value, path, depth))
    );
  }

  /** What is wrong with a value by itself, whatever is in it. */
  *#ownFault(schema: Keywords, value: unknown): SlicedWork<Message | null> {
    const { type, enum: choices } = schema;
    if (typeof type === "string" && !isOfType(type, value)) return () => `must be ${typeNamed(type)}`;
    if (Array.isArray(type) && !(yield* this.#has(type, (name) => isOfType(name, value))))
      return () => `must be ${quoted(type.slice(0, 20).map(typeNamed).join(" or "))}`;
    if (Object.hasOwn(schema, "const") && !(yield* this.#isEqual(schema.const, value)))
      return () => `must be ${quoted(JSON.stringify(schema.const) ?? "")}`;
    if (Array.isArray(choices) && !(yield* this.#isOneOf(choices, value)))
      return () => `must be one of ${quoted(choices.map((choice) => JSON.stringify(choice)).join(", "))}`;
    if (typeof value === "number") return numberFault(schema, value);
    if (typeof value === "string") return yield* this.#textFault(schema, value);
    if (Array.isArray(value)) return yield* this.#arrayFault(schema, value);
    return isFields(value) ? yield* this.#fieldsFault(schema, value) : null;
  }

  /** Returns whether one of a list is so, which is soon seen. */
  *#has(list: readonly unknown[], isSo: (item: unknown) => boolean): SlicedWork<boolean> {
    for (let index = 0; index < list.length; index++) {
      if (isSo(list[index])) return true;
      if ((index & 0x7f) === 0x7f && this.#clock.isOver(0x7f)) yield;
    }
    return false;
  }

  *#isOneOf(choices: readonly unknown[], value: unknown): SlicedWork<boolean> {
    if (typeof value !== "object" || value === null) return yield* this.#has(choices, (choice) => choice === value);
    for (const choice of choices) if (yield* this.#isEqual(choice, value)) return true;
    return false;
  }

  *#isEqual(left: unknown, right: unknown): SlicedWork<boolean> {
    if (this.#clock.isOver(4)) yield;
    if (left === right) return true;
    if (Array.isArray(left) && Array.isArray(right)) {
      if (left.length !== right.length) return false;
      for (const [index, item] of left.entries()) if (!(yield* this.#isEqual(item, right[index]))) return false;
      return true;
    }
    if (!isFields(left) || !isFields(right)) return false;
    const names = Object.keys(left);
    if (names.length !== Object.keys(right).length) return false;
    if (this.#clock.isOver(names.length)) yield;
    for (const name of names)
      if (!Object.hasOwn(right, name) || !(yield* this.#isEqual(left[name], right[name]))) return false;
    return true;
  }

  *#textFault(schema: Keywords, value: string): SlicedWork<Message | null> {
    const { minLength, maxLength, pattern } = schema;
    if (isNumber(minLength) || isNumber(maxLength)) {
      const characters = yield* this.#charactersOf(value);
      if (isNumber(minLength) && characters < minLength) return () => `must have at least ${minLength} characters`;
      if (isNumber(maxLength) && characters > maxLength) return () => `must have at most ${maxLength} characters`;
    }
    if (typeof pattern === "string" && !(yield* this.#matches(pattern, value)))
      return () => `must match the pattern ${quoted(pattern)}`;
    return null;
  }

  *#charactersOf(text: string): SlicedWork<number> {
    let characters = text.length;
    for (let at = 0; at < text.length; at++) {
      // The second half of a pair is no character by itself.
      if ((text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800) characters -= 1;
      if ((at & 0xff) === 0xff && this.#clock.isOver(64)) yield;
    }
    return characters;
  }

  *#arrayFault(schema: Keywords, value: readonly unknown[]): SlicedWork<Message | null> {
    const { minItems, maxItems } = schema;
    if (isNumber(minItems) && value.length < minItems) return () => `must have at least ${minItems} items`;
    if (isNumber(maxItems) && value.length > maxItems) return () => `must have at most ${maxItems} items`;
    if (schema.uniqueItems !== true || value.length < 2) return null;
    const texts = new Set<string>();
    for (const item of value) {
      const text = canonicalJson(item);
      texts.add(text);
      if (this.#clock.isOver(8 + text.length)) yield;
    }
    return texts.size < value.length ? () => "must not have an item twice" : null;
  }

  *#fieldsFault(schema: Keywords, value: Fields): SlicedWork<Message | null> {
    const { required, minProperties, maxProperties } = schema;
    const missing: unknown[] = [];
    for (const name of Array.isArray(required) ? required : []) {
      if (this.#clock.isOver(4)) yield;
      if (!Object.hasOwn(value, name)) missing.push(name);
    }
    if (missing.length > 0) return () => `must have ${quoted(missing.join(", "))}`;
    if (!isNumber(minProperties) && !isNumber(maxProperties)) return null;
    const count = Object.keys(value).length;
    if (this.#clock.isOver(count)) yield;
    if (isNumber(minProperties) && count < minProperties) return () => `must have at least ${minProperties} fields`;
    return isNumber(maxProperties) && count > maxProperties ? () => `must have at most ${maxProperties} fields` : null;
  }

  /** Returns whether a text matches; true for a pattern that cannot be matched in linear time. */
  *#matches(pattern: string, value: string): SlicedWork<boolean> {
    let matcher = this.#patterns.get(pattern);
    if (matcher === undefined) {
      matcher = LinearPattern.compile(pattern);
      this.#patternsSize += 100 + (matcher?.size ?? 0);
      if (this.#patternsSize > keptPatternsSizeMax) {
        this.#patterns.clear();
        this.#patternsSize = 0;
      }
      this.#patterns.set(pattern, matcher);
      // To compile it took up to some milliseconds.
      if (this.#clock.isOver(pattern.length + 100 * (matcher?.size ?? 0))) yield;
    }
    return matcher === null ? true : yield* matcher.isIn(value, this.#clock);
  }

  *#fitRef(schema: Keywords, value: unknown, path: string, depth: number): SlicedWork<Found | null> {
    const { $ref } = schema;
    if (typeof $ref !== "string") return null;
    if (!this.#refs.has($ref)) {
      this.#refs.set($ref, resolved(this.#root, $ref));
      if (this.#clock.isOver($ref.length)) yield;
    }
    const target = this.#refs.get($ref);
    return target === undefined ? null : yield* this.fit(target, value, path, depth + 1);
  }

  *#fitFields(schema: Keywords, value: Fields, path: string, depth: number): SlicedWork<Found | null> {
    const { properties, patternProperties, additionalProperties, propertyNames } = schema;
    const known = isFields(properties) ? properties : {};
    const patterns = isFields(patternProperties) ? Object.entries(patternProperties) : [];
    if (this.#clock.isOver(patterns.length)) yield;
    for (const [name, field] of Object.entries(value)) {
      if (this.#clock.isOver(8)) yield;
      const at = `${path}/${pointer(quoted(name))}`;
      const schemas: unknown[] = Object.hasOwn(known, name) ? [known[name]] : [];
      for (const [pattern, inner] of patterns) if (yield* this.#matches(pattern, name)) schemas.push(inner);
      if (schemas.length === 0 && additionalProperties !== undefined) schemas.push(additionalProperties);
      if (schemas.length === 1 && schemas[0] === false) return { path: at, message: () => "is not a known field" };
      for (const inner of schemas) {
        const misfit = yield* this.fit(inner, field, at, depth + 1);
        if (misfit !== null) return misfit;
      }
      const unnamed = propertyNames === undefined ? null : yield* this.fit(propertyNames, name, at, depth + 1);
      if (unnamed !== null) return unnamed;
    }
    return yield* this.#fitDependents(schema, value, path, depth);
  }

  *#fitDependents(schema: Keywords, value: Fields, path: string, depth: number): SlicedWork<Found | null> {
    for (const keyword of ["dependentRequired", "dependentSchemas", "dependencies"]) {
      const rules = schema[keyword];
      if (!isFields(rules)) continue;
      for (const [name, rule] of Object.entries(rules)) {
        if (this.#clock.isOver(8)) yield;
        if (!Object.hasOwn(value, name)) continue;
        if (Array.isArray(rule) && (yield* this.#has(rule, (other) => !Object.hasOwn(value, other as string)))) {
          const missing = rule.find((other) => !Object.hasOwn(value, other));
          return { path: `${path}/${pointer(quoted(String(missing)))}`, message: () => "is required" };
        }
        const misfit = Array.isArray(rule) ? null : yield* this.fit(rule, value, path, depth + 1);
        if (misfit !== null) return misfit;
      }
    }
    return null;
  }

  *#fitItems(schema: Keywords, value: readonly unknown[], path: string, depth: number): SlicedWork<Found | null> {
    const { items, prefixItems, additionalItems, contains } = schema;
    // Draft 7 has the schemas of the first items in `items`, and that of the rest in `additionalItems`.
    const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
    const rest = Array.isArray(items) ? additionalItems : items;
    for (const [index, item] of value.entries()) {
      const inner = index < first.length ? first[index] : rest;
      if (inner === undefined) break;
      const misfit = yield* this.fit(inner, item, `${path}/${index}`, depth + 1);
      if (misfit !== null) return misfit;
    }
    if (contains === undefined) return null;
    let found = 0;
    for (const item of value) if ((yield* this.fit(contains, item, path, depth + 1)) === null) found += 1;
    const least = isNumber(schema.minContains) ? schema.minContains : 1;
    const most = isNumber(schema.maxContains) ? schema.maxContains : Number.POSITIVE_INFINITY;
    return found < least || found > most ? { path, message: () => "does not contain the items that it must" } : null;
  }

  *#fitCombined(schema: Keywords, value: unknown, path: string, depth: number): SlicedWork<Found | null> {
    const { allOf, anyOf, oneOf, not } = schema;
    for (const inner of Array.isArray(allOf) ? allOf : []) {
      const misfit = yield* this.fit(inner, value, path, depth + 1);
      if (misfit !== null) return misfit;
    }
    if (Array.isArray(anyOf) && (yield* this.#countFits(anyOf, value, { path, depth, enough: 1 })) === 0)
      return { path, message: () => "fits none of the schemas of anyOf" };
    if (Array.isArray(oneOf) && (yield* this.#countFits(oneOf, value, { path, depth, enough: 2 })) !== 1)
      return { path, message: () => "must fit exactly one of the schemas of oneOf" };
    if (not !== undefined && (yield* this.fit(not, value, path, depth + 1)) === null)
      return { path, message: () => "fits a schema that it must not fit" };
    if (schema.if === undefined) return null;
    const then = (yield* this.fit(schema.if, value, path, depth + 1)) === null ? schema.then : schema.else;
    return then === undefined ? null : yield* this.fit(then, value, path, depth + 1);
  }

  /** Returns how many of some schemas a value fits, counted up to `enough`. */
  *#countFits(
    schemas: readonly unknown[],
    value: unknown,
    { path, depth, enough }: { readonly path: string; readonly depth: number; readonly enough: number },
  ): SlicedWork<number> {
    let fitting = 0;
    for (const inner of schemas) {
      if ((yield* this.fit(inner, value, path, depth + 1)) === null) fitting += 1;
      if (fitting === enough) break;
    }
    return fitting;
  }
}

function pointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
