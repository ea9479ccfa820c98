import { describe, expect, test } from "bun:test";
import { missingExample } from "../../src/kernel/openapi/example.ts";
import { useTenant } from "../harness/fixture.ts";
import { type Contract, errorsOf, formsOf, methodOf, pathOf, spelled } from "./contract.ts";
import { dereference } from "./dereference.ts";
import { invalidValues } from "./invalid-values.ts";
import { operations } from "./table.ts";
import { unprovoked } from "./unprovoked.ts";

interface Content {
  readonly schema?: object;
  readonly example?: unknown;
}

interface Described {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Readonly<Record<string, Content>> }>
  >;
}

const { t } = await useTenant();
const written = (await t.call("GET", "/openapi.json", { token: null })).body;
const document = dereference(written);
const paths: Record<string, Record<string, Described>> = document.paths;
const schemas: Record<string, { readonly examples: readonly unknown[] }> = document.components.schemas;
const tags: readonly { readonly name: string; readonly description: string }[] = document.tags;

const documentPath = (contract: Contract) => pathOf(contract).replace(/:([A-Za-z]+)/g, "{$1}");
const described = (contract: Contract) => paths[documentPath(contract)]?.[methodOf(contract).toLowerCase()];

/** All statuses and codes of an operation, as the document writes them. */
function spellings(contract: Contract): Map<string, Set<string>> {
  const codes = new Map<string, Set<string>>();
  const never = unprovoked
    .filter(({ op, isDocumented }) => op === contract.op && isDocumented !== true)
    .map(({ row }) => row);
  for (const row of errorsOf(contract).filter((one) => !never.includes(one)))
    for (const form of formsOf(contract)) {
      const spelling = spelled(row, form);
      if (spelling === null) continue;
      const status = String(spelling.status);
      codes.set(status, (codes.get(status) ?? new Set()).add(spelling.code));
    }
  // In the form that does not have it the path is unknown.
  if (contract.form !== undefined) codes.set("404", (codes.get("404") ?? new Set()).add("not_found"));
  return codes;
}

/** The objects in a schema that have fields of their own and take any other. */
function* openObjects(schema: unknown): Generator<object> {
  if (typeof schema !== "object" || schema === null) return;
  const { properties, additionalProperties } = schema as Readonly<Record<string, unknown>>;
  if (Object.keys(properties ?? {}).length > 0 && additionalProperties === true) yield schema;
  for (const [word, value] of Object.entries(schema)) if (word !== "examples") yield* openObjects(value);
}

describe("the OpenAPI document", () => {
  test("has every operation of the table, and no other", () => {
    const inDocument = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(inDocument.sort()).toEqual(operations.map((one) => `${methodOf(one)} ${documentPath(one)}`).sort());
  });

  for (const contract of operations)
    test(`describes ${contract.op}: its ids, its body, each status and code`, () => {
      const operation = described(contract) as Described;
      const ids = operation.parameters.filter((field) => field.in === "path").map(({ name }) => name);
      expect(ids).toEqual([...pathOf(contract).matchAll(/:([A-Za-z]+)/g)].map(([, name]) => name ?? ""));
      expect(operation.requestBody !== undefined).toBe(contract.body !== undefined);
      const codes = spellings(contract);
      const statuses = [...contract.success.map(String), ...codes.keys()];
      expect(Object.keys(operation.responses).sort()).toEqual([...new Set(statuses)].sort());
      for (const [status, names] of codes) {
        const text = operation.responses[status]?.description ?? "";
        for (const name of names) expect([status, text]).toEqual([status, expect.stringContaining(`\`${name}\``)]);
      }
    });

  test("names each operation once, by a noun that is its tag", () => {
    const all = Object.values(paths).flatMap((methods) => Object.values(methods));
    const ids = all.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { operationId, tags: own } of all) {
      expect(operationId).toMatch(/^[a-z][A-Za-z]*\.[a-z][A-Za-z]*$/);
      expect(own).toEqual([operationId.split(".")[0] ?? ""]);
    }
    expect(tags.map(({ name }) => name).sort()).toEqual([...new Set(all.flatMap((one) => one.tags))].sort());
  });

  test("says that an object is open only where fields of any name are written or read by that name", () => {
    // Generators of clients make an index signature of it, which takes the types of all other fields away.
    const named = Object.entries(written.components.schemas);
    const open = named.flatMap(([name, schema]) => [...openObjects(schema)].map(() => name));
    expect([...new Set(open)].sort()).toEqual(["ClientTool", "ResponseInputItem", "ResponseStreamEvent"]);
  });

  test("has an example of each schema, which fits it", () => {
    for (const [name, schema] of Object.entries(schemas)) {
      expect([name, schema.examples.length]).toEqual([name, 1]);
      expect([name, invalidValues(`schema ${name}`, () => schema, schema.examples[0])]).toEqual([name, []]);
      expect([name, JSON.stringify(schema.examples)]).toEqual([
        name,
        expect.not.stringContaining(JSON.stringify(missingExample)),
      ]);
    }
  });

  for (const contract of operations)
    test(`shows an example of each body of ${contract.op}, which fits`, () => {
      const { requestBody, responses } = described(contract) as Described;
      for (const [place, content] of [
        ["request", requestBody?.content ?? {}],
        ...Object.entries(responses).map(([status, response]) => [status, response.content ?? {}] as const),
      ] as const)
        for (const [type, { schema, example }] of Object.entries(content)) {
          if (type === "application/octet-stream") continue;
          const key = `${contract.op} ${place} ${type}`;
          expect([key, example === undefined]).toEqual([key, false]);
          expect([key, invalidValues(key, () => schema ?? {}, example)]).toEqual([key, []]);
          expect([key, JSON.stringify(example)]).toEqual([
            key,
            expect.not.stringContaining(JSON.stringify(missingExample)),
          ]);
        }
    });
});
