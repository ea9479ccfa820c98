import { callTokensMax } from "../../kernel/limits.ts";

/**
 * Reading what a vendor sent: only the fields that are used are looked at, `null` is absent, and
 * a field of a wrong type is absent too.
 */

/** An object of JSON. */
export type Fields = Readonly<Record<string, unknown>>;

/** Returns a value as an object; undefined when it is none. */
export function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

/** Returns a value as a text; undefined when it is none. */
export function textIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Returns a value as a text in which something stands; undefined when it is none. */
export function wordIn(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

/** Returns a value as a number; undefined when it is none, or has no end. */
export function numberIn(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** Returns a value as a place in a list: a whole number from 0; undefined when it is none. */
export function placeIn(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Returns the objects of a list; none when it is no list. */
export function objectsIn(value: unknown): Fields[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item): Fields[] => {
    const fields = fieldsOf(item);
    return fields === undefined ? [] : [fields];
  });
}

/** Returns the numbers among some fields, each under its name; undefined where the value is no object. */
export function numbersIn<N extends string>(
  value: unknown,
  names: readonly N[],
): Partial<Record<N, number>> | undefined {
  const fields = fieldsOf(value);
  if (fields === undefined) return undefined;
  const found: Partial<Record<N, number>> = {};
  for (const name of names) {
    const number = numberIn(fields[name]);
    if (number !== undefined) found[name] = number;
  }
  return found;
}

/** Returns the counts of tokens among some fields, as `numbersIn`; what is no count is left out, so that it spoils no sum. */
export function countsIn<N extends string>(
  value: unknown,
  names: readonly N[],
): Partial<Record<N, number>> | undefined {
  const found = numbersIn(value, names);
  for (const name of names) {
    const count = found?.[name];
    if (count === undefined || (Number.isInteger(count) && count >= 0 && count <= callTokensMax)) continue;
    delete found?.[name];
  }
  return found;
}

/** What a vendor says of its failure, amid an answer that began well. */
export interface SaidFailure {
  readonly message: string;
  readonly type?: string;
  readonly code?: string | number;
}

/** Returns what the field `error` of an event says; undefined where it says nothing, as `null`, `false`, `""` and `{}` do. */
export function failureIn(value: unknown): SaidFailure | undefined {
  if (typeof value === "string") return value.trim() === "" ? undefined : { message: value };
  if (value === true) return { message: "" };
  const fields = fieldsOf(value);
  if (fields === undefined || Object.values(fields).every((field) => field === null || field === "")) return undefined;
  const type = wordIn(fields.type);
  const code = wordIn(fields.code) ?? numberIn(fields.code);
  return {
    message: textIn(fields.message) ?? "",
    ...(type === undefined ? {} : { type }),
    ...(code === undefined ? {} : { code }),
  };
}
