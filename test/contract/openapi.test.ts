import { describe, expect, test } from "bun:test";
import { useTenant } from "../harness/fixture.ts";
import { type Contract, errorsOf, formsOf, methodOf, pathOf, spelled } from "./contract.ts";
import { operations } from "./table.ts";
import { unprovoked } from "./unprovoked.ts";

interface Described {
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: object }>>;
}

const { t } = await useTenant();
const paths: Record<string, Record<string, Described>> = (await t.call("GET", "/openapi.json", { token: null })).body
  .paths;

const documentPath = (contract: Contract) => pathOf(contract).replace(/:([A-Za-z]+)/g, "{$1}");
const described = (contract: Contract) => paths[documentPath(contract)]?.[methodOf(contract).toLowerCase()];

/** All statuses and codes of an operation, as the document writes them. */
function spellings(contract: Contract): Map<string, Set<string>> {
  const codes = new Map<string, Set<string>>();
  const never = unprovoked.filter(({ op }) => op === contract.op).map(({ row }) => row);
  for (const row of errorsOf(contract).filter((one) => !never.includes(one)))
    for (const form of formsOf(contract)) {
      const spelling = spelled(row, form);
      if (spelling === null) continue;
      const status = String(spelling.status);
      codes.set(status, (codes.get(status) ?? new Set()).add(spelling.code));
    }
  // In the form that does not have it the path is one that nobody has.
  if (contract.form !== undefined) codes.set("404", (codes.get("404") ?? new Set()).add("not_found"));
  return codes;
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
});
