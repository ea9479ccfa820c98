import { describe, expect, test } from "bun:test";
import { useTenant } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { makeAgent } from "../harness/seed.ts";
import { eventsOf } from "./protocol.ts";

const { h, t } = await useTenant({ worker: true });
const manual = { approvalInChat: { default: "manual" as const } };
const agentId = await makeAgent(h, t, { ...manual, tools: ["memory"] });
const locate = { type: "function", name: "locate", parameters: { type: "object" } };

const post = async (body: object, agent: string = agentId) =>
  (await t.call("POST", "/v1/responses", { body: { model: agent, ...body } })).body;
const read = async (id: string) => (await t.call("GET", `/v1/responses/${id}`)).body;
const typesOf = ({ output }: { output: { type: string }[] }) => output.map(({ type }) => type);
const decide = (approval: { id: string }, approve: boolean, fields: object = {}) => ({
  type: "mcp_approval_response",
  approval_request_id: approval.id,
  approve,
  ...fields,
});
const save = '[[sim: text="Wait. " tool=memory_save args={"text":"tea"} ; text="Done."]]';

describe("a call that the policy holds for a person", () => {
  test("ends the response as incomplete, with the approval in it", async () => {
    const asked = await post({ input: save });
    expect(asked).toMatchObject({
      status: "incomplete",
      completed_at: null,
      incomplete_details: { reason: "approval_required", next_response_id: expect.stringMatching(/^resp_/) },
      output: [
        { type: "message" },
        {
          type: "mcp_approval_request",
          id: expect.stringMatching(/^apr_/),
          name: "memory_save",
          arguments: '{"text":"tea"}',
        },
      ],
    });
    expect(await read(asked.id)).toEqual(asked);
  });

  test("streams so too", async () => {
    const { body } = await t.call("POST", "/v1/responses", { body: { model: agentId, input: save, stream: true } });
    const last = eventsOf(body).at(-2);
    expect(last?.name).toBe("response.incomplete");
    expect(typesOf(last?.data.response)).toEqual(["message", "mcp_approval_request"]);
    expect(await read(last?.data.response.id)).toEqual(last?.data.response);
  });

  test("is decided by the next request, whose response is what follows", async () => {
    const asked = await post({ input: save });
    const approval = asked.output[1];
    const input = [decide(approval, true)];
    const done = await post({ previous_response_id: asked.id, input });
    expect(done.id).toBe(asked.incomplete_details.next_response_id);
    expect(done).toMatchObject({
      status: "completed",
      previous_response_id: asked.id,
      output: [
        { type: "mcp_call", name: "memory_save", approval_request_id: approval.id, error: null },
        { type: "message", content: [{ text: "Done." }] },
      ],
    });
    expect(await read(done.id)).toEqual(done);
    expect(await read(asked.id)).toEqual(asked);
    const again = await t.call("POST", "/v1/responses", {
      body: { model: agentId, previous_response_id: asked.id, input },
    });
    expect([again.status, again.body.error.code]).toEqual([409, "tool_call_settled"]);
  });

  test("is denied with a reason, which the model and the caller are told", async () => {
    const asked = await post({ input: save });
    const denied = decide(asked.output[1], false, { reason: "Not now." });
    h.model.clear();
    const { body } = await t.call("POST", "/v1/responses", {
      body: { model: agentId, previous_response_id: asked.id, input: [denied], stream: true },
    });
    const { response } = eventsOf(body).at(-2)?.data ?? {};
    expect(response.output[0]).toMatchObject({ type: "mcp_call", status: "failed", output: null });
    expect(response.output[0].error).toBe("The call was denied: Not now.");
    expect(await read(response.id)).toEqual(response);
    expect(JSON.stringify(h.model.requests().at(-1)?.body)).toContain("Not now.");
  });

  test("is decided elsewhere, and the response that goes on is read by its id", async () => {
    const asked = await post({ input: save });
    const next = asked.incomplete_details.next_response_id;
    expect(await read(next)).toMatchObject({ status: "incomplete", output: [asked.output[1]] });
    const [turn] = await h.sql`select session_id from turns where id = ${asked.id.replace("resp_", "turn_")}`;
    const path = `/v1/agents/${agentId}/sessions/${turn?.sessionId}/tool-approvals/${asked.output[1].id}`;
    expect((await t.call("POST", path, { body: { approved: true } })).status).toBe(202);
    await eventually(async () => (await read(next)).status === "completed");
    expect(await read(next)).toMatchObject({ previous_response_id: asked.id, output: [{}, { type: "message" }] });
  });

  test("may be one of several: the response is incomplete until all are decided", async () => {
    const two = '[[sim: tool=memory_save args={"text":"a"} tool=memory_save args={"text":"b"} ; text="Both."]]';
    const asked = await post({ input: two });
    const [first, second] = asked.output;
    const half = await post({ previous_response_id: asked.id, input: [decide(first, true)] });
    expect(half).toMatchObject({ status: "incomplete", output: [second] });
    const streamed = await t.call("POST", "/v1/responses", {
      body: { model: agentId, previous_response_id: asked.id, input: [decide(second, false)], stream: true },
    });
    const { response } = eventsOf(streamed.body).at(-2)?.data ?? {};
    expect(response).toMatchObject({ id: half.id, status: "completed" });
    expect(response.output).toMatchObject([
      { type: "mcp_call", approval_request_id: first.id, error: null },
      { type: "mcp_call", approval_request_id: second.id, output: null },
      { type: "message" },
    ]);
    expect((await read(half.id)).output).toMatchObject(response.output.map(({ id }: { id: string }) => ({ id })));
  });

  test("is a function of the request too, which is the caller's once it is approved", async () => {
    const ask = '[[sim: tool=locate args={} ; text="You are in Lisbon."]]';
    const asked = await post({ input: ask, tools: [locate] });
    expect(typesOf(asked)).toEqual(["mcp_approval_request"]);
    const given = await post({ previous_response_id: asked.id, input: [decide(asked.output[0], true)] });
    expect([given.status, typesOf(given)]).toEqual(["completed", ["function_call"]]);
    expect(await read(given.id)).toEqual(given);
    const result = { type: "function_call_output", call_id: given.output[0].call_id, output: "Lisbon" };
    const done = await post({ previous_response_id: given.id, input: [result] });
    expect([done.status, typesOf(done)]).toEqual(["completed", ["message"]]);
    expect(done.previous_response_id).toBe(given.id);
    expect(await read(given.id)).toEqual(given);
  });

  test("is told as denied at once beside a function that is approved", async () => {
    const ask = '[[sim: tool=memory_save args={"text":"tea"} tool=locate args={} ; text="You are in Lisbon."]]';
    const asked = await post({ input: ask, tools: [locate] });
    const [save, call] = asked.output;
    const decisions = [decide(save, false, { reason: "Not now." }), decide(call, true)];
    const { body } = await t.call("POST", "/v1/responses", {
      body: { model: agentId, previous_response_id: asked.id, input: decisions, stream: true },
    });
    const { response: given } = eventsOf(body).at(-2)?.data ?? {};
    expect([given.status, typesOf(given)]).toEqual(["completed", ["mcp_call", "function_call"]]);
    expect(given.output[0].error).toBe("The call was denied: Not now.");
    expect(await read(given.id)).toEqual(given);
    const result = { type: "function_call_output", call_id: given.output[1].call_id, output: "Lisbon" };
    h.model.clear();
    const done = await post({ previous_response_id: given.id, input: [result] });
    expect([done.status, typesOf(done)]).toEqual(["completed", ["message"]]);
    const [told] = h.model.requests().map((request) => JSON.stringify(request.body));
    for (const words of ["Not now.", "Lisbon"]) expect(told).toContain(words);
    expect(await read(given.id)).toEqual(given);
  });
});

test("400 validation_failed: an approval of another turn, or none", async () => {
  const [one, other] = [await post({ input: save }), await post({ input: save })];
  const { status, body } = await t.call("POST", "/v1/responses", {
    body: { model: agentId, previous_response_id: one.id, input: [decide(other.output[1], true)] },
  });
  expect([status, body.error.param]).toEqual([400, "input[0].approval_request_id"]);
});

test("without a session nobody can be asked, so the call is denied", async () => {
  const done = await post({ input: save, store: false });
  expect(done).toMatchObject({ status: "completed", store: false });
  expect(done.output[1]).toMatchObject({ type: "mcp_call", status: "failed" });
});
