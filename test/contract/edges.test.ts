import { afterAll, describe, expect, test } from "bun:test";
import type { Form } from "../../src/kernel/errors.ts";
import type { ApiResponse } from "../harness/harness.ts";
import { callOf } from "./calls.ts";
import { type Contract, formsOf, methodOf, pathOf } from "./contract.ts";
import { Scene } from "./scene.ts";
import { operations } from "./table.ts";
import { type Call, pathWith, send, useWorld } from "./world.ts";

const done = { unknown: 0, required: 0, methods: 0 };
const w = await useWorld();
const s = await Scene.open(w);
afterAll(() => {
  process.stdout.write(
    `contract: unknown fields refused ${done.unknown} times, required ones asked for ${done.required} times, ${done.methods} wrong methods refused\n`,
  );
});

const everyCase = operations.flatMap((contract) => formsOf(contract).map((form) => ({ contract, form })));

function expectInvalid({ plainInvalid }: Contract, form: Form, response: ApiResponse, path: string | null): void {
  const { error } = response.body ?? {};
  const code = form === "a" || plainInvalid ? "invalid_request" : "validation_failed";
  expect([response.status, error?.code]).toEqual([400, code]);
  if (path !== null) expect(error.details.issues.map((issue: { path: string }) => issue.path)).toEqual([path]);
}

/** The same form with one part more. */
function withPart(form: FormData, name: string): FormData {
  const more = new FormData();
  for (const [key, part] of form.entries()) more.append(key, part);
  more.append(name, "1");
  return more;
}

/** The same form with one part less. */
function withoutPart(form: FormData, name: string): FormData {
  const less = new FormData();
  for (const [key, part] of form.entries()) if (key !== name) less.append(key, part);
  return less;
}

/** The call with an unknown field in its body; null where the body is no set of fields. */
function withUnknownField({ body: kind, op }: Contract, call: Call): Call | null {
  if (kind === "bytes" || op.startsWith("GET ")) return null;
  if (call.body instanceof FormData) return { ...call, body: withPart(call.body, "surprise") };
  return { ...call, body: { ...(call.body as object), surprise: 1 } };
}

describe("an unknown field is 400", () => {
  for (const { contract, form } of everyCase) {
    test(`${contract.op} in the query, form ${form}`, async () => {
      const call = await callOf(s, contract.op, form);
      const response = await send(s.t, contract.op, form, { ...call, query: { ...call.query, surprise: "1" } });
      expectInvalid(contract, form, response, "surprise");
      done.unknown += 1;
    });
    if (withUnknownField(contract, {}) !== null)
      test(`${contract.op} in the body, form ${form}`, async () => {
        const call = withUnknownField(contract, await callOf(s, contract.op, form)) as Call;
        const isPicture = contract.op.includes("/avatar");
        const response = await send(s.t, contract.op, form, call);
        if (isPicture && contract.body === "multipart") expect(response.body.error.code).toBe("invalid_request");
        else expectInvalid(contract, form, response, "/surprise");
        done.unknown += 1;
      });
  }
});

describe("a required field that is left out is 400", () => {
  for (const { contract, form } of everyCase)
    for (const field of contract.required ?? [])
      test(`${contract.op} ${field}, form ${form}`, async () => {
        const call = await callOf(s, contract.op, form);
        const body =
          call.body instanceof FormData
            ? withoutPart(call.body, field)
            : { ...(call.body as object), [field]: undefined };
        expectInvalid(contract, form, await send(s.t, contract.op, form, { ...call, body }), `/${field}`);
        done.required += 1;
      });
});

describe("a body that is no JSON is 400", () => {
  for (const { contract, form } of everyCase)
    if (contract.body === "json")
      test(`${contract.op}, form ${form}`, async () => {
        const call = await callOf(s, contract.op, form);
        for (const [body, type] of [
          ["{", "application/json"],
          ["[]", "application/json"],
          ["null", "application/json"],
          ["{}", "text/plain"],
          [new Uint8Array([0x22, 0xff, 0x22]), "application/json"],
          ['{"name":"\\u0000"}', "application/json"],
        ] as const) {
          const response = await send(s.t, contract.op, form, { ...call, body, headers: { "content-type": type } });
          expectInvalid(contract, form, response, null);
        }
      });
});

describe("a method that a path does not take is 405, with those it takes in Allow", () => {
  const methods = ["DELETE", "GET", "PATCH", "POST", "PUT"];
  const paths = [...new Set(operations.map(pathOf))];
  for (const path of paths) {
    const ids = operations.find((contract) => pathOf(contract) === path)?.ids ?? {};
    const params = Object.fromEntries(
      Object.entries(ids).map(([name, [prefix]]) => [name, `${prefix}_${"0".repeat(24)}`]),
    );
    const concrete = pathWith(path, { version: "1", toolCallId: "call_1", userId: "anna", ...params });
    const taken = [...new Set(operations.filter((one) => pathOf(one) === path).map(methodOf))].sort();
    test(path, async () => {
      for (const method of methods.filter((one) => !taken.includes(one)))
        for (const form of ["a", "b"] as const) {
          const response = await s.t.call(method, concrete, { form });
          expect([method, response.status, response.body.error.code, response.headers.get("allow")]).toEqual([
            method,
            405,
            "method_not_allowed",
            taken.join(", "),
          ]);
          done.methods += 1;
        }
    });
  }
});
