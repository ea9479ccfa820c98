import { Buffer } from "node:buffer";
import { Type } from "@sinclair/typebox";
import { invalid } from "../kernel/errors.ts";
import { Component, example } from "../kernel/http/component.ts";
import { Characters } from "../kernel/http/request-fields.ts";
import { schemaFault } from "../kernel/json-schema-fault.ts";
import { refsWithin } from "../kernel/json-schema-refs.ts";
import type { ResponseFormat } from "../model/response-format.ts";

/** A response format's schema has at most this many bytes as JSON. */
const schemaBytesMax = 64 * 1024;
/** Its name has at most this many characters, as many as the model vendors accept. */
const nameCharactersMax = 64;

const reading = {
  type: "object",
  properties: { celsius: { type: "number" } },
  required: ["celsius"],
  additionalProperties: false,
};

/** The field `responseFormat` of turns, generations and tasks. */
export const ResponseFormatField = example(
  Component("ResponseFormat", {
    type: Type.Literal("json_schema", { errorMessage: 'must be "json_schema"' }),
    name: Type.Optional(Characters({ min: 1, max: nameCharactersMax, pattern: "^[A-Za-z0-9_-]+$" })),
    schema: Type.Object({}, { additionalProperties: true }),
  }),
  { type: "json_schema", name: "reading", schema: reading },
);

/** Checks what the field's type does not say. Throws 400 naming the field, or what of the schema is none. */
export function checkResponseFormat(format: ResponseFormat | null | undefined, path = "/responseFormat"): void {
  if (format == null) return;
  const { schema } = format;
  if (Buffer.byteLength(JSON.stringify(schema)) > schemaBytesMax)
    throw invalid(`${path}/schema`, `must be at most ${schemaBytesMax} bytes as JSON`);
  const fault = schemaFault(schema, "", refsWithin(schema));
  if (fault !== null) throw invalid(`${path}/schema${fault.path}`, fault.message);
}
