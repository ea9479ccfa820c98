import { nameOf, type Schema, typeOf } from "./types.ts";

interface Content {
  readonly schema: Schema;
}

/** An operation of the OpenAPI document. */
export interface DescribedOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters: ReadonlyArray<{
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: Schema;
  }>;
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Content>> }>>;
}

/** Where an operation stands. */
export interface OperationPlace {
  readonly method: string;
  readonly path: string;
  readonly schemas: Readonly<Record<string, Schema>>;
}

const json = "application/json";
const stream = "text/event-stream";
const form = "multipart/form-data";
const bytes = "application/octet-stream";
const turnStream = "TurnStream<UIMessageChunk>";

/** The class member or members that call an operation. */
export function methodsOf(operation: DescribedOperation, place: OperationPlace): string {
  const verb = operation.operationId.split(".")[1] ?? "";
  const made = { ...partsOf(operation), ...place, operation, verb };
  return [singleMethod(made), pagedMethod(made)].filter((text) => text !== null).join("\n\n");
}

interface Parts extends OperationPlace {
  readonly operation: DescribedOperation;
  readonly verb: string;
  readonly ids: readonly string[];
  /** The parameter of the body: its declaration, and how the transport is told it. */
  readonly body: { readonly declared: string; readonly type: string; readonly passed: string } | null;
  readonly query: { readonly declared: string; readonly type: string } | null;
  readonly result: string;
}

function partsOf(operation: DescribedOperation): Pick<Parts, "ids" | "body" | "query" | "result"> {
  const ids = operation.parameters.filter((field) => field.in === "path").map(({ name }) => name);
  return { ids, body: bodyOf(operation), query: queryOf(operation), result: resultOf(operation) };
}

function bodyOf({ requestBody }: DescribedOperation): Parts["body"] {
  if (requestBody === undefined) return null;
  const { content, required } = requestBody;
  const sent = (type: string, passed: string) => ({ declared: `${passed}: ${type}`, type, passed });
  if (content[form] !== undefined) return sent(typeOf(content[form].schema), "form");
  if (content[bytes] !== undefined) return sent("Blob | Uint8Array<ArrayBuffer> | string", "content");
  const type = typeOf(content[json]?.schema ?? {});
  return required ? sent(type, "body") : { declared: `body: ${type} = {}`, type, passed: "body" };
}

function queryOf({ parameters }: DescribedOperation): Parts["query"] {
  const fields = parameters.filter((field) => field.in === "query");
  if (fields.length === 0) return null;
  const isRequired = fields.some(({ required }) => required);
  const declared = fields.map(({ name, required, schema }) => `${name}${required ? "" : "?"}: ${typeOf(schema)}`);
  const type = `{ ${declared.join("; ")} }`;
  return { declared: `query: ${type}${isRequired ? "" : " = {}"}`, type };
}

/** What a call resolves to: a stream, bytes, JSON, or null where the response has no body. */
function resultOf({ responses }: DescribedOperation): string {
  const successes = Object.entries(responses).filter(([status]) => status.startsWith("2"));
  const types = successes.flatMap(([, { content }]) => {
    if (content === undefined) return ["null"];
    return Object.entries(content).flatMap(([type, { schema }]) => {
      if (type === json) return [typeOf(schema)];
      if (type === stream) return [turnStream];
      return type === bytes ? ["Uint8Array"] : [];
    });
  });
  return [...new Set(types)].join(" | ");
}

function singleMethod(parts: Parts): string {
  const { operation, verb, method, path, ids, body, query, result } = parts;
  const declared = [
    ...ids.map((name) => `${name}: string`),
    ...(body === null ? [] : [body.declared]),
    ...(query === null ? [] : [query.declared]),
    "options: CallOptions = {}",
  ];
  const passed = [...(body === null ? [] : [body.passed]), ...(query === null ? [] : ["query"]), "...options"];
  const overloads = overloadsOf(parts);
  return [
    `/** ${operation.summary}: \`${method} ${path}\`. */`,
    ...overloads,
    `${verb}(${declared.join(", ")}): Promise<${result === "null" ? "void" : result}> {`,
    `return this.#transport.call("${method}", ${template(path)}, { ${passed.join(", ")} });`,
    "}",
  ].join("\n");
}

/** What a call resolves to where that follows from what it is given: a body's `stream`, or a path in the query. */
function overloadsOf({ verb, ids, body, query, result }: Parts): string[] {
  const before = ids.map((name) => `${name}: string`);
  const overload = (field: string, type: string) =>
    `${verb}(${[...before, field, "options?: CallOptions"].join(", ")}): Promise<${type}>;`;
  const types = result.split(" | ");
  if (body !== null && types.includes(turnStream)) {
    const whole = types.find((type) => type !== turnStream) ?? "";
    // Only an assistant's message may be met with something else: a pause that goes on.
    const said = types.length === 2 ? "" : "; message?: UserMessage";
    return [
      overload(`body: ${body.type} & { stream: false${said} }`, whole),
      overload(`body: ${body.type} & { stream?: true${said} }`, turnStream),
      overload(`body: ${body.type}`, result),
    ];
  }
  if (query !== null && types.includes("Uint8Array") && types.length === 2) {
    const listed = types.find((type) => type !== "Uint8Array") ?? "";
    return [overload("query: { path: string }", "Uint8Array"), overload("query?: Record<string, never>", listed)];
  }
  return [];
}

/** A paged list also comes row by row. */
function pagedMethod({ operation, verb, path, ids, query, schemas, result }: Parts): string | null {
  const page = schemas[result];
  const rows = Object.entries(page?.properties ?? {}).find(([, field]) => field.type === "array");
  if (page?.properties?.nextCursor === undefined || rows === undefined || query === null) return null;
  const [name, { items = {} }] = rows;
  const row = nameOf(items) ?? typeOf(items);
  const declared = [...ids.map((id) => `${id}: string`), query.declared, "options: CallOptions = {}"];
  return [
    `/** ${operation.summary}, row by row over all pages: \`GET ${path}\`. */`,
    `${verb}All(${declared.join(", ")}): AsyncGenerator<${row}> {`,
    `return this.#transport.rows(${template(path)}, "${name}", { query, ...options });`,
    "}",
  ].join("\n");
}

function template(path: string): string {
  return path.includes("{") ? `path\`${path.replace(/\{/g, "${")}\`` : JSON.stringify(path);
}
