/** A JSON schema of the OpenAPI document; only the words that the page shows. */
export interface ShownSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly ShownSchema[];
  readonly items?: ShownSchema;
  readonly properties?: Readonly<Record<string, ShownSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | ShownSchema;
  readonly format?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly contentMediaType?: string;
  readonly examples?: readonly unknown[];
}

/** Bodies by their media type. */
export type ShownContent = Readonly<Record<string, { readonly schema: ShownSchema; readonly example?: unknown }>>;

/** A field of the path, the query or the headers. */
export interface ShownParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly description?: string;
  readonly schema: ShownSchema;
}

/** An operation of the document, with its place. */
export interface ShownOperation {
  readonly method: string;
  readonly path: string;
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security?: ReadonlyArray<Readonly<Record<string, unknown>>>;
  readonly parameters: readonly ShownParameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: ShownContent };
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string;
        readonly headers?: Readonly<Record<string, { readonly description: string }>>;
        readonly content?: ShownContent;
      }
    >
  >;
}

/** The OpenAPI document as the page of operations reads it. */
export interface ShownDocument {
  readonly info: { readonly version: string; readonly description: string };
  readonly servers: ReadonlyArray<{ readonly url: string }>;
  readonly tags: ReadonlyArray<{ readonly name: string; readonly description: string }>;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Omit<ShownOperation, "method" | "path">>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, ShownSchema>> };
}

/** The media type of form A's bodies. */
export const jsonInA = "application/json; form=a";

/** All operations of a document, in the order of their tags. */
export function operationsOf({ paths, tags }: ShownDocument): ShownOperation[] {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
  );
  return tags.flatMap(({ name }) => all.filter((operation) => operation.tags.includes(name)));
}

/** The name of the schema that a reference leads to; null for a schema that stands in its place. */
export function referenceOf({ $ref }: ShownSchema): string | null {
  return $ref?.split("/").at(-1) ?? null;
}

/** A noun of the document as a heading: `toolApprovals` is "Tool approvals". */
export function titleOf(noun: string): string {
  const words = noun.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace("api keys", "API keys");
  return `${words[0]?.toUpperCase()}${words.slice(1)}`.replace("Mcp ", "MCP ").replace("Api ", "API ");
}
