import { type DescribedOperation, methodsOf } from "./methods.ts";
import { declarationOf, referencesOf, type Schema } from "./types.ts";

/** An OpenAPI document as far as the client is made of it. */
export interface Document {
  readonly tags: ReadonlyArray<{ readonly name: string; readonly description: string }>;
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const notice = "/** Made from the OpenAPI document by `npm run client`; not to be edited. */";
/** Nouns that only form A has; the client speaks form B. */
const nounsOfA = new Set(["sandboxes"]);

/** The files of the client that follow from the document, by name, before they are formatted. */
export function generateClient(document: Document): Readonly<Record<string, string>> {
  const { schemas } = document.components;
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const nouns = document.tags.filter(({ name }) => !nounsOfA.has(name));
  const classes = nouns.map(({ name, description }) => {
    const own = all.filter(({ operation }) => operation.operationId.startsWith(`${name}.`));
    const methods = own.map(({ operation, ...place }) => methodsOf(operation, { ...place, schemas }));
    return classOf(name, description, methods);
  });
  const code = classes.join("\n\n");
  const used = Object.keys(schemas).filter((name) => new RegExp(`\\b${name}\\b`).test(code));
  const names = closure([...used, "ErrorResponse", "UIMessageChunk"], schemas);
  return {
    "schemas.ts": [notice, ...names.map((name) => declarationOf(name, schemas[name] ?? {}))].join("\n\n"),
    "nouns.ts": [
      notice,
      `import { type CallOptions, path, type Transport } from "../transport.ts";`,
      `import type { TurnStream } from "../turn-stream.ts";`,
      `import type { ${used.join(", ")} } from "./schemas.ts";`,
      code,
      nounsClass(nouns.map(({ name }) => name)),
    ].join("\n\n"),
  };
}

function className(noun: string): string {
  return `${noun[0]?.toUpperCase()}${noun.slice(1)}Client`;
}

function classOf(noun: string, description: string, methods: readonly string[]): string {
  return `/** ${description} */
class ${className(noun)} {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  ${methods.join("\n\n")}
}`;
}

function nounsClass(nouns: readonly string[]): string {
  return `/** All operations of the interface, by noun. */
export class Nouns {
  ${nouns.map((noun) => `readonly ${noun}: ${className(noun)};`).join("\n")}

  constructor(transport: Transport) {
    ${nouns.map((noun) => `this.${noun} = new ${className(noun)}(transport);`).join("\n")}
  }
}`;
}

/** The names, and the names that they refer to, sorted. */
function closure(names: readonly string[], schemas: Readonly<Record<string, Schema>>): string[] {
  const found = new Set<string>();
  const add = (name: string) => {
    if (found.has(name)) return;
    found.add(name);
    for (const other of referencesOf(schemas[name])) add(other);
  };
  for (const name of names) add(name);
  return [...found].sort();
}
