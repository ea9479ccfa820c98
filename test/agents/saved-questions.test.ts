import { expect, test } from "bun:test";
import { useAgent } from "../harness/fixture.ts";

const { h, t, agentId } = await useAgent();
const path = `/v1/agents/${agentId}/saved-questions`;
const replace = (questions: readonly unknown[]) => t.call("PUT", path, { body: { questions } });

test("saved questions belong to the agent and not to its versions, in both forms", async () => {
  expect((await t.call("GET", path)).body).toEqual({ questions: [] });
  const questions = ["Where is my parcel?", "靴はいつ届きますか？"];
  expect((await replace(questions)).body).toEqual({ questions });
  for (const form of ["a", "b"] as const) expect((await t.call("GET", path, { form })).body).toEqual({ questions });
  expect((await t.parley.agents.get(agentId)).version).toBe(1);
  const another = await h.tenant();
  for (const method of ["GET", "PUT"] as const) {
    const body = method === "GET" ? {} : { body: { questions: [] } };
    expect((await another.call(method, path, body)).status).toBe(404);
  }
  expect((await t.call("GET", path)).body).toEqual({ questions });
});

test("400 validation_failed: a question that could never be asked", async () => {
  for (const blank of ["", "   ", "\u200b\u200b"]) {
    const { status, body } = await replace(["Where?", blank]);
    expect([status, body.error?.details?.issues?.[0]?.path]).toEqual([400, "/questions/1"]);
  }
});

test("an event says that they changed, and no word of them", async () => {
  await replace(["A secret question?"]);
  await replace(["A secret question?"]);
  const { data } = (await t.call("GET", "/v1/audit-events?action=agent.update_saved_questions&limit=1")).body;
  expect(data).toMatchObject([{ resourceType: "agent", resourceId: agentId, changes: ["questions"] }]);
  expect(JSON.stringify(data)).not.toContain("secret");
  const all = (await t.call("GET", "/v1/audit-events?action=agent.update_saved_questions")).body.data;
  // The second time nothing changed.
  expect(all).toHaveLength(2);
});
