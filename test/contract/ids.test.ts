import { afterAll, describe, expect, test } from "bun:test";
import type { Form } from "../../src/kernel/errors.ts";
import type { ApiResponse } from "../harness/harness.ts";
import { callOf } from "./calls.ts";
import { missing } from "./causes.ts";
import { formsOf } from "./contract.ts";
import { Scene } from "./scene.ts";
import { operations } from "./table.ts";
import { send, useWorld } from "./world.ts";

let compared = 0;
const places = operations.flatMap((contract) =>
  Object.keys(contract.ids ?? {}).flatMap((name) => formsOf(contract).map((form) => ({ contract, name, form }))),
);
const w = await useWorld();
/** A tenant, and another one whose things it must not learn of. */
const [s, owner] = await Promise.all([Scene.open(w), Scene.open(w)]);
afterAll(() => {
  process.stdout.write(`contract: ${compared} of ${places.length} ids (each form counted): foreign is as missing\n`);
});

/** All of a response but what is its own: the request's id. */
function seen({ status, headers, body }: ApiResponse): unknown {
  const requestId = headers.get("x-request-id") ?? "";
  // Two responses may lie on either side of a second.
  const fields = [...headers].flatMap(([name, value]) => (name === "date" ? [] : [`${name}: ${value}`])).sort();
  return JSON.parse(JSON.stringify({ status, fields, body }).replaceAll(requestId, "REQUEST"));
}

describe("another tenant's id gets the response of an id that nothing has, and the owner's thing stays as it is", () => {
  for (const { contract, name, form } of places) {
    const { op, ids = {}, success } = contract;
    const [prefix] = ids[name] ?? [""];
    test(`${op} :${name} in form ${form}`, async () => {
      const [own, theirs] = [await callOf(s, op, form), await callOf(owner, op, form)];
      const foreign = theirs.params?.[name] ?? "";
      expect(foreign).toStartWith(`${prefix}_`);
      const askFor = async (id: string) => {
        const token = own.token === undefined ? {} : { token: w.dashboard(s.t.id) };
        return seen(await send(s.t, op, form, { ...own, ...token, params: { ...own.params, [name]: id } }));
      };
      expect(await askFor(foreign)).toEqual(await askFor(missing(prefix)));
      expect(success).toContain((await send(owner.t, op, form, theirs)).status);
      compared += 1;
    });
  }
});

describe("an id of another shape is 400", () => {
  const malformed = (prefix: string) => [
    `${prefix}_1`,
    `${missing(prefix)}0`,
    missing(prefix).toUpperCase(),
    missing("xx"),
    `${prefix}_${"é".repeat(24)}`,
    `${missing(prefix)}\n`,
    "%00",
  ];
  const codeIn = (form: Form, plain: boolean) => (form === "a" || plain ? "invalid_request" : "validation_failed");
  for (const { contract, name, form } of places) {
    const { op, ids = {}, plainInvalid = false } = contract;
    const [prefix] = ids[name] ?? [""];
    test(`${op} :${name} in form ${form}`, async () => {
      const params = Object.fromEntries(Object.entries(ids).map(([other, [own]]) => [other, missing(own)]));
      for (const id of malformed(prefix)) {
        const others = { version: "1", toolCallId: "call_1", ...params, [name]: id };
        const body = contract.body === "json" ? { body: {} } : {};
        const response = await send(s.t, op, form, { ...body, params: others });
        const paths = response.body?.error?.details?.issues?.map(({ path }: { path: string }) => path);
        expect([id, response.status, response.body?.error?.code, paths]).toEqual([
          id,
          400,
          codeIn(form, plainInvalid),
          [name],
        ]);
      }
    });
  }
});
