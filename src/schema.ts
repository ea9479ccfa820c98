import { type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";

/** An object that takes no field beyond those named: unknown fields are 400. */
export function Closed<T extends TProperties>(properties: T): TObject<T> {
  return Type.Object(properties, { additionalProperties: false });
}

/** A name, 1 to 80 characters. */
export const Name = Type.String({ minLength: 1, maxLength: 80 });

/** A label for whose a resource is, not access control; the empty string means the tenant's own. */
export const UserId = Type.String({ maxLength: 256 });

/** Free data kept with a resource; at most 16 KiB as JSON. */
export const Metadata = Type.Record(Type.String(), Type.Unknown());

export function Nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

/** A choice among fixed texts. */
export function OneOf<T extends string>(...values: readonly T[]) {
  return Type.Union(values.map((value) => Type.Literal(value)) as never) as unknown as ReturnType<
    typeof Type.Unsafe<T>
  >;
}

/** Query fields of a paged list; `readLimit` and `readTimeCursor` give them meaning. */
export const pageQuery = {
  cursor: Type.Optional(Type.String({ maxLength: 1024 })),
  limit: Type.Optional(Type.String({ maxLength: 16 })),
};
