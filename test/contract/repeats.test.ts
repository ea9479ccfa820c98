import { describe, expect, test } from "bun:test";
import { callOf } from "./calls.ts";
import { formsOf } from "./contract.ts";
import { Scene } from "./scene.ts";
import { operations } from "./table.ts";
import { send, useWorld } from "./world.ts";

const w = await useWorld();
const s = await Scene.open(w);

/** Updates that change something each time: they save a version, write a file, or invite anew. */
const alwaysChange = /^PUT (\/v1\/agents\/:agentId|\/v1\/skills\/:skillId|.*\/files)$|^PATCH \/v1\/members\//;
const changes = operations.filter(
  ({ op }) => /^(PUT|PATCH) |\/(en|dis)able$|^DELETE .*\/avatar$/.test(op) && !alwaysChange.test(op),
);

describe("a change that is asked for again leaves no audit event", () => {
  for (const contract of changes)
    for (const form of formsOf(contract))
      test(`${contract.op} in form ${form}`, async () => {
        const call = await callOf(s, contract.op, form);
        const first = await send(s.t, contract.op, form, call);
        const again = await send(s.t, contract.op, form, call);
        expect([first.status, again.status]).toEqual([200, 200]);
        const events = await w.h.sql`
          select changes from audit_events where request_id = ${again.headers.get("x-request-id")}`;
        expect([...events]).toEqual([]);
      });
});

test("which counts the operations of more than ten resources", () => {
  expect(changes.length).toBeGreaterThan(15);
});
