import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { useTenant } from "../harness/fixture.ts";
import { inRepository } from "../harness/repository.ts";

const { t } = await useTenant();
const page = inRepository("docs/roles.md");
const [begin, end] = ["<!-- operations -->\n", "<!-- /operations -->"];

/** The table of the page: for each role, in the order of the ladder, the operations whose least role it is. */
async function table(): Promise<string> {
  const { paths } = (await t.call("GET", "/openapi.json", { token: null })).body;
  const operations = Object.values(paths as Record<string, Record<string, { operationId: string; "x-role": string }>>)
    .flatMap((methods) => Object.values(methods))
    .map(({ operationId, "x-role": role }) => ({ operationId, role }));
  const rows = ["reader", "approver", "runner", "editor", "admin"].map((role) => {
    const names = operations.filter((one) => one.role === role).map(({ operationId }) => `\`${operationId}\``);
    return `| \`${role}\` | ${names.sort().join(", ")} |`;
  });
  return ["| least role | operations |", "|---|---|", ...rows, ""].join("\n");
}

/** `WRITE=1` writes the table instead. */
test("docs/roles.md names the least role of each operation as the document does", async () => {
  const text = readFileSync(page, "utf8");
  const place = [text.indexOf(begin) + begin.length, text.indexOf(end)] as const;
  expect(place[0]).toBeLessThanOrEqual(place[1]);
  const made = await table();
  if (process.env.WRITE === "1") writeFileSync(page, text.slice(0, place[0]) + made + text.slice(place[1]));
  else expect(text.slice(...place)).toBe(made);
});
