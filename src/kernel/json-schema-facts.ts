/** A message quotes at most this many characters of a name. */
const quotedCharactersMax = 100;

type Fields = Readonly<Record<string, unknown>>;

/** Returns what of a number does not fit the keywords about numbers; null when it fits. */
export function numberFault(schema: Fields, value: number): (() => string) | null {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (isNumber(minimum) && value < minimum) return () => `must be at least ${minimum}`;
  if (isNumber(maximum) && value > maximum) return () => `must be at most ${maximum}`;
  if (isNumber(exclusiveMinimum) && value <= exclusiveMinimum) return () => `must be more than ${exclusiveMinimum}`;
  if (isNumber(exclusiveMaximum) && value >= exclusiveMaximum) return () => `must be less than ${exclusiveMaximum}`;
  if (!isNumber(multipleOf) || multipleOf <= 0) return null;
  // 0.3 is a multiple of 0.1, although 0.3 / 0.1 is not whole in binary.
  const times = value / multipleOf;
  const isMultiple = Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times));
  return isMultiple ? null : () => `must be a multiple of ${multipleOf}`;
}

/** Returns whether a value is of a type of JSON Schema. */
export function isOfType(name: unknown, value: unknown): boolean {
  switch (name) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isFields(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === name;
  }
}

const names: Fields = {
  string: "a text",
  number: "a number",
  integer: "a whole number",
  boolean: "true or false",
  object: "an object",
  array: "a list",
};

/** Returns a type of JSON Schema as a message names it. */
export function typeNamed(type: unknown): string {
  return Object.hasOwn(names, String(type)) ? String(names[String(type)]) : String(type);
}

/** Returns a text as a message quotes it: its begin. */
export function quoted(text: string): string {
  return text.length <= quotedCharactersMax ? text : `${text.slice(0, quotedCharactersMax).toWellFormed()}…`;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isNumber(value: unknown): value is number {
  return typeof value === "number";
}
