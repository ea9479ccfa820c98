import { afterAll, describe, expect, test } from "bun:test";
import type { Form } from "../../src/kernel/errors.ts";
import type { ApiResponse } from "../harness/harness.ts";
import { bounds, missingAgents } from "./bounds.ts";
import { callOf } from "./calls.ts";
import { ask } from "./causes.ts";
import { type Contract, formsOf, type Limit, limitsOf, spelled } from "./contract.ts";
import { preparations } from "./preparations.ts";
import { Scene } from "./scene.ts";
import { operations } from "./table.ts";
import { type Call, useWorld } from "./world.ts";

const tried = new Set<string>();
const all = operations.flatMap((contract) =>
  limitsOf(contract).flatMap((limit) =>
    formsOf({ form: contract.form ?? limit.form }).map((form) => ({ contract, limit, form })),
  ),
);
const nameOf = ({ op }: Contract, { field, max, min }: Limit, form: Form) =>
  `${op} ${field} ${min ?? ""}..${max ?? ""} in form ${form}`;
const w = await useWorld();
const s = await Scene.open(w);
afterAll(() => {
  process.stdout.write(`contract: ${tried.size} of ${all.length} limits tried on both sides\n`);
});

/** A text of so many characters that no other has: beyond the first plane, so that characters are not UTF-16 units. */
let texts = 0;
function textOf(count: number): string {
  texts += 1;
  return count <= 0 ? "" : String.fromCodePoint(0x20000 + texts) + "😀".repeat(count - 1);
}

/** A text of so many bytes of UTF-8, most characters of two. */
const bytesOf = (count: number) => "é".repeat(Math.floor(count / 2)) + "x".repeat(count % 2);

/** An object of so many bytes as JSON. */
const jsonOf = (size: number) => ({ k: bytesOf(size - JSON.stringify({ k: "" }).length) });

/** A header's text of so many characters that no other has. */
const headerOf = (size: number) => crypto.randomUUID().padEnd(size, "k");

function fieldOf({ unit }: Limit, size: number): unknown {
  if (unit === "characters") return textOf(size);
  if (unit === "ascii") return "k".repeat(Math.max(0, size));
  if (unit === "json") return jsonOf(size);
  if (unit === "bytes") return bytesOf(size);
  return unit === "items" ? missingAgents(size) : size;
}

/** Asks with a field at a size. */
async function askWith({ op }: Contract, limit: Limit, form: Form, size: number): Promise<ApiResponse> {
  if (limit.unit === "header") return ask(s, op, form, { headers: { [limit.field]: headerOf(size) } });
  const value = fieldOf(limit, size);
  if (limit.unit === "query") return ask(s, op, form, { query: { [limit.field]: String(value) } });
  const prepare = preparations[`${op} ${limit.field}`] ?? preparations[limit.field];
  const prepared: Partial<Call> = (await prepare?.(s, value, form)) ?? { body: { [limit.field.slice(1)]: value } };
  return ask(s, op, form, prepared);
}

function expectRefused(contract: Contract, limit: Limit, form: Form, response: ApiResponse): void {
  const code = form === "a" || contract.plainInvalid ? "invalid_request" : "validation_failed";
  const paths = response.body?.error?.details?.issues?.map(({ path }: { path: string }) => path);
  expect([response.status, response.body?.error?.code, paths]).toEqual([400, code, [limit.field]]);
}

/** A version that is beyond those there are is missing, but within the bound. */
function expectTaken(contract: Contract, response: ApiResponse): void {
  if (response.body?.error?.code?.toLowerCase() === "agent_version_not_found") return;
  expect([response.status, response.status < 300 ? undefined : response.body]).toEqual([
    contract.success[0],
    undefined,
  ]);
}

describe("a field", () => {
  for (const { contract, limit, form } of all) {
    if (limit.unit === "cap" || limit.unit === "file") continue;
    const { min, max } = limit;
    test(nameOf(contract, limit, form), async () => {
      if (min !== undefined) expectTaken(contract, await askWith(contract, limit, form, min));
      if (min !== undefined && (min > 0 || limit.unit === "number"))
        expectRefused(contract, limit, form, await askWith(contract, limit, form, min - 1));
      if (max !== undefined) {
        expectTaken(contract, await askWith(contract, limit, form, max));
        expectRefused(contract, limit, form, await askWith(contract, limit, form, max + 1));
      }
      tried.add(nameOf(contract, limit, form));
    });
  }
});

describe("a count or a size", () => {
  for (const { contract, limit, form } of all) {
    if (limit.unit !== "cap" && limit.unit !== "file") continue;
    test(nameOf(contract, limit, form), async () => {
      const meet = bounds[`${contract.op} ${limit.field}`] ?? bounds[limit.field];
      if (meet === undefined) throw new Error(`Nobody knows how to meet ${limit.field}.`);
      const fresh = await Scene.open(w);
      const { last, beyond } = await meet(fresh, contract.op, form);
      expectTaken(contract, last);
      if (limit.beyond === "201 evicts") {
        const { params } = await callOf(fresh, contract.op, form);
        expect([beyond.status, params?.agentId]).toEqual([201, expect.any(String)]);
        const [row] = await w.h.sql`select count(*)::int as rows from memories where agent_id = ${beyond.body.agentId}`;
        expect(row?.rows).toBe(limit.max);
      } else {
        const { status, code } = spelled(limit.beyond ?? "", form) ?? { status: 0, code: "" };
        expect([beyond.status, beyond.body?.error?.code]).toEqual([status, code]);
      }
      tried.add(nameOf(contract, limit, form));
    });
  }
});
