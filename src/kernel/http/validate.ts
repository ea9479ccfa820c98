import type { Static, TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler, type ValueError, ValueErrorType } from "@sinclair/typebox/compiler";
import { ApiError, type Issue, invalidAll } from "../errors.ts";
import { checkString } from "./json-body.ts";
import { takesCursor } from "./request-fields.ts";

const compiled = new WeakMap<TSchema, TypeCheck<TSchema>>();
/** A response names at most this many broken rules. */
const issuesMax = 20;

/** Checks a JSON body. Throws 400 with one issue per broken rule, each path a JSON pointer. */
export function validateBody<T extends TSchema>(schema: T, value: unknown): Static<T> {
  return validate(schema, value === undefined ? {} : value, (path) => path);
}

/** Checks a part of a body that its own schema leaves open, which stands at a pointer. Throws as `validateBody`. */
export function validateAt<T extends TSchema>(schema: T, value: unknown, pointer: string): Static<T> {
  return validate(schema, value, (path) => `${pointer}${path}`);
}

/**
 * Checks query or path fields, which are all text; null is a field that could not
 * be decoded. Throws 400 with one issue per broken rule, each path the field's
 * name. A field given twice is refused. A cursor that is no text is 400 `invalid_cursor`.
 */
export function validateFields<T extends TSchema>(schema: T, fields: Iterable<[string, string | null]>): Static<T> {
  // Without a prototype, so that a field named `__proto__` is a field like any other.
  const values: Record<string, string> = Object.create(null);
  for (const [name, value] of fields) {
    if (Object.hasOwn(values, name)) throw invalidAll([{ path: name, message: "must not be given twice" }]);
    const isCursor = takesCursor(schema, name);
    if (value === null)
      throw isCursor
        ? new ApiError("invalid_cursor")
        : invalidAll([{ path: name, message: "must be URL-encoded UTF-8" }]);
    if (!isCursor) checkString(value, name);
    values[name] = value;
  }
  return validate(schema, values, (path) => path.slice(1));
}

function validate<T extends TSchema>(schema: T, value: unknown, show: (path: string) => string): Static<T> {
  const check = compile(schema);
  if (check.Check(value)) return value;
  const issues = new Map<string, Issue>();
  for (const error of withinNullable(check.Errors(value))) {
    // The first error of a path is the most telling one ("required" before "must be a string").
    const path = show(error.path);
    if (!issues.has(path)) issues.set(path, { path, message: describe(error) });
    if (issues.size === issuesMax) break;
  }
  throw invalidAll([...issues.values()]);
}

/** Yields errors; where a value may also be null, what is wrong with it otherwise. */
function* withinNullable(errors: Iterable<ValueError>): Generator<ValueError, void, undefined> {
  for (const error of errors) {
    const within = error.type === ValueErrorType.Union ? errorsBesideNull(error) : undefined;
    if (within === undefined) yield error;
    else yield* withinNullable(within);
  }
}

/** Returns the errors of the one choice that a value has beside null; undefined where the schema or `unionMessage` says it better. */
function errorsBesideNull({ schema, errors }: ValueError): Iterable<ValueError> | undefined {
  const options: TSchema[] = schema.anyOf ?? [];
  const place = options.findIndex(({ type }) => type !== "null");
  const only = options[place];
  if (options.length !== 2 || only === undefined || !options.some(({ type }) => type === "null")) return undefined;
  return "const" in only || typeof schema.errorMessage === "string" ? undefined : errors[place];
}

function compile(schema: TSchema): TypeCheck<TSchema> {
  let check = compiled.get(schema);
  if (check === undefined) {
    check = TypeCompiler.Compile(schema);
    compiled.set(schema, check);
  }
  return check;
}

/** A rule in plain words. A schema's own `errorMessage` wins over the general ones. */
function describe(error: ValueError): string {
  const { schema, type } = error;
  if (type === ValueErrorType.ObjectRequiredProperty) return "is required";
  if (type === ValueErrorType.ObjectAdditionalProperties) return unknownField(error);
  if (typeof schema.errorMessage === "string") return schema.errorMessage;
  switch (type) {
    case ValueErrorType.StringMinLength:
      return schema.minLength === 1 ? "must not be empty" : `must have at least ${schema.minLength} characters`;
    case ValueErrorType.StringMaxLength:
      return `must have at most ${schema.maxLength} characters`;
    case ValueErrorType.StringPattern:
      return schema.description === undefined ? "has the wrong shape" : `must have the shape ${schema.description}`;
    case ValueErrorType.ArrayMinItems:
      return `must have at least ${schema.minItems} items`;
    case ValueErrorType.ArrayMaxItems:
      return `must have at most ${schema.maxItems} items`;
    case ValueErrorType.ArrayUniqueItems:
      return "must not name anything twice";
    case ValueErrorType.IntegerMinimum:
    case ValueErrorType.NumberMinimum:
      return `must be at least ${schema.minimum}`;
    case ValueErrorType.IntegerMaximum:
    case ValueErrorType.NumberMaximum:
      return `must be at most ${schema.maximum}`;
    case ValueErrorType.Union:
      return unionMessage(schema);
    default:
      return `${error.message.charAt(0).toLowerCase()}${error.message.slice(1)}`;
  }
}

/** A schema's `unknownFields` says of a field that callers are known to send what to send in its place. */
function unknownField({ schema, path }: ValueError): string {
  const hints: Readonly<Record<string, string>> = schema.unknownFields ?? {};
  const name = path.slice(path.lastIndexOf("/") + 1);
  const hint = Object.hasOwn(hints, name) ? hints[name] : undefined;
  return hint === undefined ? "is not a known field" : `is not a known field; ${hint}`;
}

function unionMessage(schema: TSchema): string {
  const options: TSchema[] = schema.anyOf ?? [];
  const constants = options.filter((option) => "const" in option || option.type === "null");
  if (constants.length !== options.length) return "is of the wrong type";
  return `must be one of ${options.map((option) => JSON.stringify(option.const ?? null)).join(", ")}`;
}
