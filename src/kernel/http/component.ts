import { type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";

/**
 * Gives a schema its name among the OpenAPI document's components, where it then
 * stands once and is referred to. A name belongs to one schema.
 */
export function component<T extends TSchema>(name: string, schema: T): T {
  return { ...schema, title: name };
}

/** A component that is an object without further fields: the usual shape of a body. */
export function Component<T extends TProperties>(name: string, properties: T): TObject<T> {
  return component(name, Type.Object(properties, { additionalProperties: false }));
}

/**
 * A field with the value that the document's examples show. A field that may be left
 * out is part of an example when it has such a value.
 */
export function example<T extends TSchema>(schema: T, value: unknown): T {
  return { ...schema, example: value };
}

/** A schema that the document shows in place of the one that is checked, which takes more or says more in its errors. */
export function shownAs<T extends TSchema>(schema: T, shown: TSchema): T {
  return { ...schema, shown };
}

/** An object whose refusal of unknown fields says, of fields that callers are known to send, what to send in their place. */
export function withHints<T extends TSchema>(schema: T, unknownFields: Readonly<Record<string, string>>): T {
  return { ...schema, unknownFields };
}
