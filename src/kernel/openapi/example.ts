import { OptionalKind, type TSchema } from "@sinclair/typebox";

/** Stands where a text has no example. A test sees that the document has none. */
export const missingExample = "…";

const time = "2026-03-02T09:30:00.000Z";
const idBody = "0mk7q2v5c8d1f4h6j9n3p0rt";

/** A value that fits a schema: what its fields give as examples, and for the others what their kinds suggest. */
export function exampleOf(schema: TSchema): unknown {
  const shown = (schema.shown ?? schema) as TSchema;
  if (schema.example !== undefined) return schema.example;
  if (shown.example !== undefined) return shown.example;
  if (shown.const !== undefined) return shown.const;
  if (shown.enum !== undefined) return shown.enum[0];
  if (shown.anyOf !== undefined) return exampleOf(shown.anyOf[0]);
  switch (shown.type) {
    case "object":
      return objectExample(shown);
    case "array":
      return [exampleOf(shown.items)];
    case "integer":
    case "number":
      return shown.default ?? Math.max(1, shown.minimum ?? 1);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return textExample(shown);
  }
}

/** Whether an optional field is part of an example: where it, or what it is a list or choice of, says one. */
function isShown(schema: TSchema): boolean {
  return schema[OptionalKind] === undefined || schema.example !== undefined;
}

function objectExample(schema: TSchema): object {
  const fields = Object.entries((schema.properties ?? {}) as Record<string, TSchema>);
  const shown = fields.filter(([, field]) => isShown(field));
  // A change names one field at least.
  const least = shown.length === 0 && schema.minProperties === 1 ? fields.slice(0, 1) : shown;
  return Object.fromEntries(least.map(([name, field]) => [name, exampleOf(field)]));
}

function textExample({ format, pattern }: TSchema): string {
  if (format === "date-time") return time;
  if (format === "date") return time.slice(0, "YYYY-MM-DD".length);
  const prefix = /^\^\(?([a-z]+)_\[0-9a-z\]/.exec(pattern ?? "")?.[1];
  return prefix === undefined ? missingExample : `${prefix}_${idBody}`;
}
