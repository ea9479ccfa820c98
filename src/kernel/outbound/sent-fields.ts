/**
 * Reading what a chat platform or a billing provider sends: field by field, only those that are used. What is
 * null or of another type than it should be is absent, and costs itself alone.
 */

/** The fields of an object; of anything else, none. */
export type SentFields = Readonly<Record<string, unknown>>;

/** An id has at most this many characters. */
const idCharactersMax = 256;

/** Returns the fields of a value; null when it is no object. */
export function sentFields(value: unknown): SentFields | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as SentFields) : null;
}

/** Returns those items of a list that are objects. */
export function sentItems(value: unknown): SentFields[] {
  return Array.isArray(value) ? value.map(sentFields).filter((item) => item !== null) : [];
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
