import {
  Kind,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type,
  TypeRegistry,
} from "@sinclair/typebox";
import { cursorLengthMax, metadataBytesMax } from "../limits.ts";

/** An object that takes no field beyond those named: unknown fields are 400. */
export function Closed<T extends TProperties>(properties: T): TObject<T> {
  return Type.Object(properties, { additionalProperties: false });
}

/** The fields of a change: any of these, and one at least. */
export function Change<T extends TProperties>(properties: T) {
  return Type.Partial(Closed(properties), {
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
 * A text of so many characters. They are Unicode code points, as JSON Schema
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
export const Name = Characters({ min: 1, max: 80 });

/** A label for whose a resource is, not access control; the empty string means the tenant's own. */
export const UserId = Characters({ max: 256 });

const metadataKind = "Metadata";

TypeRegistry.Set(metadataKind, (_, value) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Buffer.byteLength(JSON.stringify(value)) <= metadataBytesMax;
});

/** Free data kept with a resource, at most `metadataBytesMax` as JSON: a list shows it with every row. */
export const Metadata = Type.Unsafe<Record<string, unknown>>({
  [Kind]: metadataKind,
  type: "object",
  errorMessage: `must be an object of at most ${metadataBytesMax} bytes as JSON`,
});

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

/** A cursor's query field. Whatever is wrong with it is for `readCursor` to say, so that it has one code. */
export const Cursor = Type.Unsafe<string>({ [Kind]: cursorKind, type: "string", maxLength: cursorLengthMax });

/** Whether a query's schema takes a cursor in this field. */
export function takesCursor(schema: TSchema, field: string): boolean {
  return schema.properties?.[field]?.[Kind] === cursorKind;
}

/** Query fields of a paged list; `readLimit` and `readTimeCursor` give them meaning. */
export const pageQuery = {
  cursor: Type.Optional(Cursor),
  limit: Type.Optional(Type.String({ maxLength: 16 })),
};
