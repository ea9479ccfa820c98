import { ParleyError } from "parley/client";

/** Returns the JSON of a field; `empty` where nothing is written. Throws `ParleyError` with the fault at that field, as the API does. */
export function readJsonText<Value>(field: string, text: string, empty: Value): Value {
  if (text.trim() === "") return empty;
  try {
    return JSON.parse(text) as Value;
  } catch (error) {
    const why = error instanceof Error ? error.message : "";
    throw new ParleyError(new Response(null, { status: 400 }), {
      ...{ code: "validation_failed", message: "A field is no JSON.", requestId: "" },
      details: { issues: [{ path: `/${field}`, message: `is no JSON: ${why}` }] },
    });
  }
}

/** Returns a value as a person edits it: JSON over several lines, nothing for what is empty. */
export function jsonText(value: unknown): string {
  const isEmpty = value === null || (typeof value === "object" && Object.keys(value).length === 0);
  return isEmpty ? "" : JSON.stringify(value, null, 2);
}
