/**
 * Reading what a chat platform sends: field by field, only those that are used. What is
 * null or of another type than it should be is absent, and costs itself alone.
 */

/** The fields of an object; of anything else, none. */
export type Fields = Readonly<Record<string, unknown>>;

/** An id of a platform has at most so many characters. */
const idCharactersMax = 256;

/** Returns the fields of a value; null when it is no object. */
export function fieldsOf(value: unknown): Fields | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

/** Returns those items of a list that are objects. */
export function itemsOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf).filter((item) => item !== null) : [];
}

export function textAt(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** Returns an id: a text of visible characters. */
export function idAt(value: unknown): string | null {
  return typeof value === "string" && value.length <= idCharactersMax && /^[\x21-\x7e]+$/.test(value) ? value : null;
}

export function wholeAt(value: unknown): number | null {
  return Number.isSafeInteger(value) ? (value as number) : null;
}
