/** A JSON schema of the OpenAPI document; only the words that it uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly pattern?: string;
  readonly contentMediaType?: string;
}

/** The name of the component that a schema refers to; null for a schema that stands in its place. */
export function nameOf(schema: Schema | undefined): string | null {
  return schema?.$ref?.split("/").at(-1) ?? null;
}

/** A schema as a TypeScript type. */
export function typeOf(schema: Schema): string {
  const name = nameOf(schema);
  if (name !== null) return name;
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(" | ");
  switch (schema.type) {
    case "string":
      return textType(schema);
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "null":
      return "null";
    case "array":
      return `Array<${typeOf(schema.items ?? {})}>`;
    case "object":
      return objectType(schema);
    default:
      return "unknown";
  }
}

function textType({ pattern, contentMediaType }: Schema): string {
  if (contentMediaType === "application/octet-stream") return "Blob";
  const prefix = /^\^([a-z]+-)$/.exec(pattern ?? "")?.[1];
  return prefix === undefined ? "string" : `\`${prefix}\${string}\``;
}

function objectType({ properties, required = [], additionalProperties }: Schema): string {
  if (properties === undefined || Object.keys(properties).length === 0) {
    const values = typeof additionalProperties === "object" ? typeOf(additionalProperties) : "unknown";
    return additionalProperties === false ? "Record<string, never>" : `Record<string, ${values}>`;
  }
  const fields = Object.entries(properties).map(([name, field]) => {
    const optional = required.includes(name) ? "" : "?";
    return `${name}${optional}: ${typeOf(field)};`;
  });
  // What says that it is open, such as an item of an input, has fields that are not named here.
  if (additionalProperties === true) fields.push("[field: string]: unknown;");
  return `{ ${fields.join(" ")} }`;
}

/** The declaration of a named schema. */
export function declarationOf(name: string, schema: Schema): string {
  const type = typeOf(schema);
  return schema.type === "object" && type.startsWith("{")
    ? `export interface ${name} ${type}`
    : `export type ${name} = ${type};`;
}

/** The names that a schema refers to, itself or in its parts. */
export function referencesOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesOf);
  if (typeof value !== "object" || value === null) return [];
  const name = nameOf(value as Schema);
  return name === null ? Object.values(value).flatMap(referencesOf) : [name];
}
