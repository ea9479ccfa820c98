import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

const ajv = new Ajv2020({ allErrors: true, strict: false, validateFormats: false });
const compiled = new Map<string, ValidateFunction>();

/** What of a value does not fit a JSON schema, in words; the schema is compiled once for its key. */
export function invalidValues(key: string, schema: () => object, value: unknown): string[] {
  let check = compiled.get(key);
  if (check === undefined) {
    check = ajv.compile(schema());
    compiled.set(key, check);
  }
  if (check(value)) return [];
  return (check.errors ?? []).map(({ instancePath, message, params }) =>
    [instancePath, message, JSON.stringify(params)].join(" "),
  );
}
