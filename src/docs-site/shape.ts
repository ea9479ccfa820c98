import { referenceOf, type ShownSchema } from "./document.ts";
import { type Html, type HtmlPart, html } from "./html.ts";

/** Fields of fields are shown in the same table this many levels deep. */
const depthMax = 4;

/** One field as a row of a table. */
interface FieldRow {
  /** Its name, after those of the fields that it is in: `schedule.config.everyMs`, `parts[].text`. */
  readonly name: string;
  readonly isRequired: boolean;
  readonly schema: ShownSchema;
}

/** A schema's fields as a table; a schema without fields as its type. */
export function fieldTable(schema: ShownSchema): Html {
  const rows = rowsOf(schema, "", 0);
  if (rows.length === 0) return html`<p class="type">${typeHtml(schema)}</p>`;
  return html`<table class="fields">
<thead><tr><th>Field</th><th>Type</th><th>What it is</th></tr></thead>
<tbody>${rows.map(fieldRow)}</tbody></table>`;
}

/** One row: a field with its type, whether it is required, its bounds and its description. */
export function fieldRow({ name, isRequired, schema }: FieldRow): Html {
  const need = isRequired ? html` <span class="required">required</span>` : null;
  const words = [schema.description ?? null, boundsOf(schema)].filter((text) => text !== null && text !== "…");
  return html`<tr><td><code>${name}</code>${need}</td><td class="type">${typeHtml(schema)}</td><td>${words.join(" ")}</td></tr>
`;
}

function rowsOf(schema: ShownSchema, before: string, depth: number): FieldRow[] {
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties).flatMap(([field, value]) => {
    const name = `${before}${field}`;
    return [{ name, isRequired: required.includes(field), schema: value }, ...rowsBelow(value, name, depth + 1)];
  });
}

/** The rows of the fields below one that has no name. */
function rowsBelow(schema: ShownSchema, name: string, depth: number): FieldRow[] {
  if (depth >= depthMax || referenceOf(schema) !== null) return [];
  if (schema.items !== undefined) return rowsBelow(schema.items, `${name}[]`, depth);
  const options = (schema.anyOf ?? []).filter(({ properties }) => properties !== undefined);
  // Several kinds of objects in one place have fields that belong together; their type says them.
  if (options.length > 1) return [];
  return rowsOf(options[0] ?? schema, `${name}.`, depth);
}

/** A schema's type in words, with links to the shapes that have a name. */
export function typeHtml(schema: ShownSchema): Html {
  const name = referenceOf(schema);
  if (name !== null) return html`<a href="#shape-${name}">${name}</a>`;
  if (schema.enum !== undefined) return joined(schema.enum.map(literal), " | ");
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.anyOf !== undefined) return joined(schema.anyOf.map(typeHtml), " | ");
  if (schema.type === "array") return html`array of ${typeHtml(schema.items ?? {})}`;
  if (schema.type === "object") return objectType(schema);
  if (schema.contentMediaType === "application/octet-stream") return html`file`;
  return html`${schema.type ?? "any value"}${schema.format === undefined ? null : ` (${schema.format})`}`;
}

function objectType({ properties, required = [], additionalProperties }: ShownSchema): Html {
  if (properties === undefined) {
    if (typeof additionalProperties !== "object") return html`object`;
    return html`object of ${typeHtml(additionalProperties)}`;
  }
  const fixed = Object.entries(properties).filter(([, { const: only }]) => only !== undefined);
  if (fixed.length === 0) return html`object`;
  // What tells one kind of object from another: `{ type: "text", text }`.
  const rest = Object.keys(properties).filter((field) => properties[field]?.const === undefined);
  const names = rest.map((field) => (required.includes(field) ? field : `${field}?`));
  const told = fixed.map(([field, value]) => html`${field}: ${literal(value.const)}`);
  return html`{ ${joined([...told, ...names.map((field) => html`${field}`)], ", ")} }`;
}

const literal = (value: unknown): Html => html`<code>${JSON.stringify(value)}</code>`;

function joined(parts: readonly Html[], between: string): Html {
  return html`${parts.flatMap((part, index): HtmlPart[] => (index === 0 ? [part] : [between, part]))}`;
}

/** A schema's bounds in words. */
function boundsOf(schema: ShownSchema): string | null {
  const bounds = [
    range(schema.minLength === 0 ? undefined : schema.minLength, schema.maxLength, "characters"),
    range(schema.minItems, schema.maxItems, "items"),
    range(schema.minimum, schema.maximum, ""),
    schema.default === undefined ? null : `Default: ${JSON.stringify(schema.default)}.`,
  ].filter((text) => text !== null);
  return bounds.length === 0 ? null : bounds.join(" ");
}

function range(least: number | undefined, most: number | undefined, unit: string): string | null {
  if (least === undefined && most === undefined) return null;
  const numbers =
    most === undefined ? `At least ${least}` : least === undefined ? `At most ${most}` : `${least} to ${most}`;
  return `${`${numbers} ${unit}`.trim()}.`;
}

/** A value as a block of JSON, or a text as it is. */
export function exampleBlock(example: unknown): Html {
  return codeBlock(typeof example === "string" ? example : JSON.stringify(example, null, 2));
}

/** A block of code. */
export function codeBlock(code: string, label = "Code"): Html {
  return html`<pre tabindex="0" role="group" aria-label="${label}"><code>${code}</code></pre>`;
}
