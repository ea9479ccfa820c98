import { describe, expect, test } from "bun:test";
import { newId } from "../../src/kernel/ids.ts";
import { callOf } from "../contract/calls.ts";
import { methodOf, pathOf } from "../contract/contract.ts";
import { Scene } from "../contract/scene.ts";
import { operations } from "../contract/table.ts";
import { type Call, send, useWorld } from "../contract/world.ts";
import type { ApiResponse } from "../harness/harness.ts";

const w = await useWorld();
const s = await Scene.open(w);
const own = await s.newAgent();
await w.h.sql`update tenants set api_keys_max = 1000 where id = ${s.t.id}`;
/** A new key for each test: some calls make room for keys by deleting others. */
const limitedKey = () => s.parley.apiKeys.create({ name: "limited", agentIds: [own] });

/** Ids of what belongs to an agent, or is limited to some, by their prefix. */
const owned = /^(?:ag|ak|apr|cc|cd|cont|ctk|mem|mev|resp|ss|tk|tr|turn|wh|whd)_[0-9a-z]{24}$/;
/** Whether a call names such a thing. */
const namesOwned = ({ params = {}, body }: Call) =>
  [...Object.values(params), ...Object.values(isFields(body) ? body : {})].some(
    (value) => typeof value === "string" && owned.test(value),
  );
const isFields = (value: unknown): value is object => typeof value === "object" && value !== null;

/** The call with every such id replaced by one that nothing has. */
function withMissing(call: Call): Call {
  const replace = (value: unknown) =>
    typeof value === "string" && owned.test(value) ? value.replace(/[0-9a-z]{24}$/, newId("turn").slice(-24)) : value;
  const change = (fields: object) =>
    Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, replace(value)]));
  const { params = {}, body } = call;
  const isPlain = isFields(body) && body.constructor === Object;
  return { ...call, params: change(params) as Record<string, string>, ...(isPlain ? { body: change(body) } : {}) };
}

const said = ({ status, body }: ApiResponse) => [status, isFields(body) && "error" in body ? strip(body) : body];
const strip = (body: object) => JSON.stringify(body).replace(/req_\w+|"requestId":"[^"]*"/g, "");

describe("to a key that is limited to one agent, of what is another agent's", () => {
  for (const contract of operations) {
    const form = contract.form ?? "b";
    test(`${methodOf(contract)} ${pathOf(contract)} is what it is of what is missing, or tells nothing`, async () => {
      const call = await callOf(s, contract.op, form);
      const { token } = await limitedKey();
      const response = await send(s.t, contract.op, form, { ...call, token });
      expect(response.status).not.toBe(401);
      if (namesOwned(call)) {
        const missing = await send(s.t, contract.op, form, { ...withMissing(call), token });
        expect(said(response)).toEqual(said(missing));
        return;
      }
      const foreign = await w.h.sql<{ id: string }[]>`
        select id from agents where tenant_id = ${s.t.id} and id <> ${own}
        union all select id from sessions where tenant_id = ${s.t.id} and agent_id <> ${own}
        union all select id from turns where tenant_id = ${s.t.id} and agent_id <> ${own}
        union all select id from tasks where tenant_id = ${s.t.id} and agent_id <> ${own}`;
      const text = JSON.stringify(response.body) ?? "";
      expect([response.status, foreign.map(({ id }) => id).filter((id) => text.includes(id))]).toEqual([
        response.status,
        [],
      ]);
    });
  }
});
