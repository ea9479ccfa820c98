import { referenceOf, type ShownOperation, type ShownSchema } from "./document.ts";

const multipart = "multipart/form-data";
const bytes = "application/octet-stream";
const json = "application/json";
const stream = "text/event-stream";

/** A request of an operation with `curl`. The shell has `PARLEY_URL`, `PARLEY_API_KEY` and the ids of the path. */
export function curlSample(operation: ShownOperation): string {
  const { method, path, requestBody } = operation;
  const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${shellName(name)}`);
  const query = requiredQuery(operation).map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  const options = [
    ...(streams(operation) ? ["-N"] : []),
    ...(method === "GET" || (method === "POST" && requestBody !== undefined) ? [] : [`-X ${method}`]),
  ];
  const first = ["curl", ...options, `"$PARLEY_URL${url}${query.length === 0 ? "" : `?${query.join("&")}`}"`].join(" ");
  return [first, `-H "Authorization: Bearer $PARLEY_API_KEY"`, ...curlBody(operation)].join(" \\\n  ");
}

function curlBody({ requestBody }: ShownOperation): string[] {
  const content = requestBody?.content;
  if (content === undefined) return [];
  if (content[multipart] !== undefined)
    return Object.entries(content[multipart].example ?? {}).map(([name, value]) =>
      name === "file" ? "-F file=@file" : `-F ${name}=${value}`,
    );
  if (content[bytes] !== undefined) return ["--data-binary @file"];
  const body = JSON.stringify(content[json]?.example ?? {}).replaceAll("'", `'\\''`);
  return [`-H "Content-Type: application/json"`, `-d '${body}'`];
}

/** A call of an operation with the typed client; null for what only form A has, which the client does not speak. */
export function clientSample(operation: ShownOperation, schemas: Readonly<Record<string, ShownSchema>>): string | null {
  if (operation.tags.includes("sandboxes")) return null;
  const ids = operation.parameters.filter((field) => field.in === "path").map(({ name }) => name);
  const body = clientBody(operation);
  const query = Object.fromEntries(requiredQuery(operation));
  const given = [
    ...ids,
    ...(body === null ? [] : [body]),
    ...(Object.keys(query).length === 0 ? [] : [literalOf(query)]),
  ];
  const call = `parley.${operation.operationId}`;
  if (streams(operation) && operation.method === "POST")
    return `const turn = await ${call}(${given.join(", ")});\nfor await (const text of turn.texts()) process.stdout.write(text);`;
  const rows = rowsOf(operation, schemas);
  if (rows !== null) return `const rows = await Array.fromAsync(${call}All(${given.join(", ")}));`;
  return `${hasResult(operation) ? "const result = " : ""}await ${call}(${given.join(", ")});`;
}

function clientBody({ requestBody }: ShownOperation): string | null {
  const content = requestBody?.content;
  if (content === undefined) return null;
  if (content[bytes] !== undefined) return '"The text of the file."';
  if (content[multipart] === undefined) return literalOf(content[json]?.example ?? {});
  const fields = Object.entries(content[multipart].example ?? {}).map(([name, value]) =>
    name === "file" ? "file" : `${name}: ${JSON.stringify(value)}`,
  );
  return `{ ${fields.join(", ")} }`;
}

/** The rows of a list that has pages: the client reads all of them. */
function rowsOf({ method, responses, parameters }: ShownOperation, schemas: Readonly<Record<string, ShownSchema>>) {
  if (method !== "GET" || !parameters.some((field) => field.in === "query")) return null;
  const page = schemas[referenceOf(responses["200"]?.content?.[json]?.schema ?? {}) ?? ""];
  if (page?.properties?.nextCursor === undefined) return null;
  return Object.values(page.properties).find(({ type }) => type === "array") ?? null;
}

function streams({ responses }: ShownOperation): boolean {
  return Object.entries(responses).some(
    ([status, { content }]) => status.startsWith("2") && content?.[stream] !== undefined,
  );
}

function hasResult({ responses }: ShownOperation): boolean {
  return Object.entries(responses).some(([status, { content }]) => status.startsWith("2") && content !== undefined);
}

/** What a query must have, each with an example. */
function requiredQuery({ parameters }: ShownOperation): [name: string, value: unknown][] {
  return parameters
    .filter((field) => field.in === "query" && field.required)
    .map(({ name, schema }) => [name, exampleField(name, schema)]);
}

function exampleField(name: string, { type, enum: choices }: ShownSchema): unknown {
  if (choices !== undefined) return choices[0];
  if (type === "boolean") return false;
  if (type === "integer") return 1;
  return name === "path" ? "notes.md" : name;
}

/** `agentId` as the shell names it: `AGENT_ID`. */
function shellName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

/** A value as TypeScript writes it, names of fields without quotes. */
function literalOf(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll(/^(\s*)"([A-Za-z_]\w*)":/gm, "$1$2:");
}
