import {
  Kind,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type,
  TypeRegistry,
} from "@sinclair/typebox";
import { cursorLengthMax, metadataBytesMax, userIdLengthMax } from "../limits.ts";
import { example } from "./component.ts";
import { commonPage, type PageSize } from "./page.ts";

/** An object that takes no field beyond those named: unknown fields are 400. */
export function Closed<T extends TProperties>(properties: T): TObject<T> {
  return Type.Object(properties, { additionalProperties: false });
}

/** The fields of a change: any of these, and one at least; and its component's name. */
export function Change<T extends TProperties>(component: string, properties: T) {
  return Type.Partial(Closed(properties), {
    title: component,
    minProperties: 1,
    errorMessage: "must be an object that names at least one field",
  });
}

const charactersKind = "Characters";

interface CharacterBounds {
  readonly minLength?: number;
  readonly maxLength: number;
  readonly pattern?: string;
}

TypeRegistry.Set<CharacterBounds>(charactersKind, ({ minLength = 0, maxLength, pattern }, value) => {
  // A character is at most two UTF-16 units, so that far longer texts need not be walked.
  if (typeof value !== "string" || value.length > 2 * maxLength) return false;
  const characters = [...value].length;
  if (characters < minLength || characters > maxLength) return false;
  return pattern === undefined || new RegExp(pattern, "u").test(value);
});

/**
 * A text of a bounded number of characters. They are Unicode code points, as JSON Schema
 * counts them; `Type.String` would count UTF-16 units, and an emoji twice.
 */
export function Characters(rule: { min?: number; max: number; pattern?: string }): TUnsafe<string> {
  const { min = 0, max, ...shape } = rule;
  const errorMessage =
    min === 0 ? `must be a text of at most ${max} characters` : `must be a text of ${min} to ${max} characters`;
  const bounds = { minLength: min, maxLength: max, ...shape };
  return Type.Unsafe<string>({ [Kind]: charactersKind, type: "string", ...bounds, errorMessage });
}

/** A name, 1 to 80 characters. */
export const Name = example(Characters({ min: 1, max: 80 }), "Support");

/** A label for whose a resource is, not access control; the empty string means the tenant's own. */
export const UserId = Characters({ max: userIdLengthMax });

const metadataKind = "Metadata";

TypeRegistry.Set(metadataKind, (_, value) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Buffer.byteLength(JSON.stringify(value)) <= metadataBytesMax;
});

/** Free data kept with a resource, at most `metadataBytesMax` as JSON: a list shows it with every row. */
export const Metadata = Type.Unsafe<Record<string, unknown>>({
  [Kind]: metadataKind,
  type: "object",
  additionalProperties: true,
  example: { plan: "pro" },
  errorMessage: `must be an object of at most ${metadataBytesMax} bytes as JSON`,
});

const smallJsonKind = "SmallJson";

TypeRegistry.Set(smallJsonKind, (_, value) => Buffer.byteLength(JSON.stringify(value ?? null)) <= metadataBytesMax);

/** Free data of any shape, at most `metadataBytesMax` as JSON. */
export const SmallJson = Type.Unsafe<unknown>({
  [Kind]: smallJsonKind,
  errorMessage: `must be at most ${metadataBytesMax} bytes as JSON`,
});

const boundedJsonKind = "BoundedJson";

TypeRegistry.Set<{ bytesMax: number }>(
  boundedJsonKind,
  ({ bytesMax }, value) => Buffer.byteLength(JSON.stringify(value ?? null)) <= bytesMax,
);

/** Any JSON of a bounded number of bytes. */
export function BoundedJson(bytesMax: number) {
  const errorMessage = `must be at most ${bytesMax} bytes as JSON`;
  return Type.Unsafe<unknown>({ [Kind]: boundedJsonKind, bytesMax, errorMessage });
}

export function Nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

/** A choice among fixed texts. */
export function OneOf<T extends string>(...values: readonly T[]) {
  return Type.Union(values.map((value) => Type.Literal(value)) as never) as unknown as ReturnType<
    typeof Type.Unsafe<T>
  >;
}

const cursorKind = "Cursor";

TypeRegistry.Set(cursorKind, (_, value) => typeof value === "string");

/** A cursor's query field. `readCursor` checks it, so that every fault of it has one code. */
export const Cursor = Type.Unsafe<string>({ [Kind]: cursorKind, type: "string", maxLength: cursorLengthMax });

/** Whether a query's schema takes a cursor in this field. */
export function takesCursor(schema: TSchema, field: string): boolean {
  return schema.properties?.[field]?.[Kind] === cursorKind;
}

/** A file in a multipart form, for the OpenAPI document: OpenAPI 3.1 describes one by its media type alone. */
export const FileBytes = Type.Unsafe<Blob>({
  [Kind]: "FileBytes",
  type: "string",
  contentMediaType: "application/octet-stream",
  example: "(the bytes of the file)",
});

const digitsKind = "Digits";

TypeRegistry.Set<{ digitsMax: number }>(
  digitsKind,
  ({ digitsMax }, value) => typeof value === "string" && value.length <= digitsMax,
);

/**
 * A whole number in a path or query, which are text. It is documented as the integer
 * that it means; the code that reads it checks that it is one.
 */
export function Digits(range: { minimum: number; maximum?: number; default?: number }, digitsMax = 16) {
  const errorMessage = `must have at most ${digitsMax} characters`;
  return Type.Unsafe<string>({
    [Kind]: digitsKind,
    digitsMax,
    errorMessage,
    shown: { [Kind]: "Integer", type: "integer", ...range },
  });
}

const flagKind = "Flag";

TypeRegistry.Set(flagKind, (_, value) => value === "true" || value === "false");

/** Yes or no in a query, as text; documented as the boolean that it means. */
export const Flag = Type.Unsafe<"true" | "false">({
  [Kind]: flagKind,
  errorMessage: 'must be one of "true", "false"',
  shown: { [Kind]: "Boolean", type: "boolean" },
});

/** Query fields of a paged list with pages of such a size; `readLimit` and `readTimeCursor` give them meaning. */
export function pageQueryOf({ max, default: usual }: PageSize) {
  return {
    cursor: Type.Optional(Cursor),
    limit: Type.Optional(Digits({ minimum: 1, maximum: max, default: usual })),
  };
}

/** Query fields of a list that is paged for who asks for a page (`readListPart`). */
export const listPartQuery = {
  cursor: Type.Optional(Cursor),
  limit: Type.Optional(Digits({ minimum: 1, maximum: commonPage.max })),
};

/** Query fields of most paged lists. */
export const pageQuery = pageQueryOf(commonPage);
