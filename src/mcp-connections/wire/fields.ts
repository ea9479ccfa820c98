/**
 * How fields of a stranger's answer are read: null is absent, and of a field of another type than
 * is asked for only its name is told.
 */

/** An object of JSON. */
export type JsonFields = Readonly<Record<string, unknown>>;

/** An answer, or a part of it, that cannot be read. The message says which field and why, never what it holds. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
}

/** Returns an object of JSON; null for anything else, lists too. */
export function asFields(value: unknown): JsonFields | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonFields) : null;
}

/** Returns a text that is not empty; null for anything else. */
export function asText(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** Returns the texts of a list, or of one text its words; what else a list holds is left out. Null where there is neither. */
export function asTexts(value: unknown): string[] | null {
  if (typeof value === "string") return value.split(/\s+/).filter((word) => word !== "");
  return Array.isArray(value) ? value.filter((item) => typeof item === "string" && item !== "") : null;
}

/** Returns a text that has to be there. Throws `Unreadable`. */
export function requiredText(fields: JsonFields, name: string): string {
  const value = fields[name];
  if (value === undefined || value === null) throw new Unreadable(`\`${name}\` is missing`);
  if (typeof value !== "string") throw new Unreadable(`\`${name}\` is no text`);
  if (value === "") throw new Unreadable(`\`${name}\` is empty`);
  return value;
}
