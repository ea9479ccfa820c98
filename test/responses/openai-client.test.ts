import { describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { useAgent } from "../harness/fixture.ts";
import { eventually } from "../harness/harness.ts";
import { openaiOf } from "../harness/responses.ts";
import { chatAnswer } from "../harness/said-usage.ts";
import { makeAgent, makeProvider } from "../harness/seed.ts";
import { startVendor } from "../servers/vendor.ts";

const { h, t, agentId } = await useAgent({ worker: true });
const openai = openaiOf(h, t);

const weather = {
  type: "function" as const,
  name: "get_weather",
  description: "The weather at a place.",
  parameters: { type: "object", properties: { location: { type: "string" } }, required: ["location"] },
  strict: false,
};
const askWeather = '[[sim: tool=get_weather args={"location":"Lisbon"} ; text="It is sunny."]]';

describe("OpenAI's client", () => {
  test("creates a response and reads it again", async () => {
    const created = await openai.responses.create({ model: agentId, input: '[[sim: text="Hello there."]]' });
    expect(created).toMatchObject({
      object: "response",
      status: "completed",
      model: agentId,
      output_text: "Hello there.",
    });
    expect(created.id).toMatch(/^resp_[0-9a-z]{24}$/);
    expect(created.usage?.total_tokens).toBeGreaterThan(0);
    const read = await openai.responses.retrieve(created.id);
    expect({ ...read, _request_id: null }).toEqual({ ...created, _request_id: null } as never);
  });

  test("streams a response, whose events lead to what is stored", async () => {
    const stream = openai.responses.stream({ model: agentId, input: '[[sim: reasoning="Hm." text="One two three."]]' });
    const types: string[] = [];
    let text = "";
    for await (const event of stream) {
      types.push(event.type);
      if (event.type === "response.output_text.delta") text += event.delta;
    }
    const final = await stream.finalResponse();
    expect(text).toBe("One two three.");
    expect(final.output_text).toBe("One two three.");
    expect(types.slice(0, 2)).toEqual(["response.created", "response.in_progress"]);
    expect(types.at(-1)).toBe("response.completed");
    const read = await openai.responses.retrieve(final.id);
    expect(read.output as unknown[]).toEqual(JSON.parse(JSON.stringify(final.output, withoutParsed)));
    expect(read.usage).toEqual(final.usage as never);
  });

  test("reads cached and reasoning tokens, of a response and of a stream", async () => {
    const said = {
      ...{ prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 },
      prompt_tokens_details: { cached_tokens: 40 },
      completion_tokens_details: { reasoning_tokens: 30 },
    };
    const vendor = startVendor(({ body }) => (body === null ? new Response("no", { status: 404 }) : chatAnswer(said)));
    try {
      const provider = await makeProvider(h, t, { baseUrl: `${vendor.url}/v1` });
      const model = await makeAgent(h, t, { providerId: provider.id });
      const usage = {
        ...{ input_tokens: 100, output_tokens: 50, total_tokens: 150 },
        input_tokens_details: { cached_tokens: 40 },
        output_tokens_details: { reasoning_tokens: 30 },
      };
      const created = await openai.responses.create({ model, input: "x", reasoning: { effort: "low" } });
      expect(created.usage).toEqual(usage as never);
      expect(created.reasoning?.effort).toBe("low");
      const stream = openai.responses.stream({ model, input: "x" });
      expect((await stream.finalResponse()).usage).toEqual(usage as never);
    } finally {
      await vendor.stop();
    }
  });

  test("goes on from a previous response", async () => {
    const first = await openai.responses.create({ model: agentId, input: "My name is Ada." });
    h.model.clear();
    const second = await openai.responses.create({
      model: agentId,
      previous_response_id: first.id,
      input: "What is my name?",
    });
    expect(second.previous_response_id).toBe(first.id);
    expect(JSON.stringify(h.model.requests().at(-1)?.body)).toContain("My name is Ada.");
    const { data } = await t.parley.sessions.list(agentId);
    expect(data.find(({ messageCount }) => messageCount === 4)).toBeDefined();
  });

  test("runs a function and sends its output", async () => {
    const first = await openai.responses.create({ model: agentId, input: askWeather, tools: [weather] });
    expect(first.status).toBe("completed");
    const call = first.output.find((item) => item.type === "function_call");
    expect(call).toMatchObject({ name: "get_weather", arguments: '{"location":"Lisbon"}' });
    h.model.clear();
    const second = await openai.responses.create({
      model: agentId,
      previous_response_id: first.id,
      input: [{ type: "function_call_output", call_id: call?.call_id ?? "", output: "21 degrees" }],
    });
    expect(second).toMatchObject({ status: "completed", output_text: "It is sunny.", previous_response_id: first.id });
    expect(JSON.stringify(h.model.requests().at(-1)?.body)).toContain("21 degrees");
    // What each of the two said stays apart.
    expect((await openai.responses.retrieve(first.id)).output.map(({ type }) => type)).toEqual(["function_call"]);
    expect((await openai.responses.retrieve(second.id)).output.map(({ type }) => type)).toEqual(["message"]);
    expect(second.usage?.total_tokens).toBeGreaterThan(0);
  });

  test("streams a function call whole", async () => {
    const stream = openai.responses.stream({ model: agentId, input: askWeather, tools: [weather] });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    expect(types).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.function_call_arguments.delta",
      "response.function_call_arguments.done",
      "response.output_item.done",
      "response.completed",
    ]);
    const { output } = await stream.finalResponse();
    expect(output).toMatchObject([{ type: "function_call", name: "get_weather", status: "completed" }]);
  });

  test("keeps its own list of items, as OpenAI's guide does it", async () => {
    const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: askWeather }];
    const first = await openai.responses.create({ model: agentId, input, tools: [weather] });
    input.push(...(first.output as OpenAI.Responses.ResponseInput));
    for (const item of first.output)
      if (item.type === "function_call")
        input.push({ type: "function_call_output", call_id: item.call_id, output: "21 degrees" });
    const second = await openai.responses.create({ model: agentId, input, tools: [weather] });
    expect(second.output_text).toBe("It is sunny.");
    input.push(...(second.output as OpenAI.Responses.ResponseInput), { role: "user", content: "And tomorrow?" });
    h.model.clear();
    const third = await openai.responses.create({ model: agentId, input, tools: [weather] });
    expect(third.status).toBe("completed");
    const asked = JSON.stringify(h.model.requests().at(-1)?.body);
    expect(asked.split("21 degrees").length).toBe(2);
    expect(asked.split("And tomorrow?").length).toBe(2);
  });

  test("gets an answer by schema", async () => {
    const Reading = z.object({ celsius: z.number() });
    const parsed = await openai.responses.parse({
      model: agentId,
      input: '[[sim: text="{\\"celsius\\": 21.5}"]]',
      text: { format: zodTextFormat(Reading, "reading") },
    });
    expect(parsed.output_parsed).toEqual({ celsius: 21.5 });
    expect(parsed.text?.format).toMatchObject({ type: "json_schema", name: "reading" });
  });

  test("cancels a response in the background", async () => {
    const begun = await openai.responses.create({
      model: agentId,
      input: '[[sim: hangAfterChunks=1 text="Hm."]]',
      background: true,
    });
    expect(["queued", "in_progress"]).toContain(begun.status as string);
    expect(begun.output).toEqual([]);
    await eventually(async () => (await openai.responses.retrieve(begun.id)).status === "in_progress");
    const canceled = await openai.responses.cancel(begun.id);
    expect(canceled.status).toBe("cancelled");
    expect((await openai.responses.cancel(begun.id)).status).toBe("cancelled");
    expect((await openai.responses.retrieve(begun.id)).status).toBe("cancelled");
  });

  test("deletes a response, and finds it no more", async () => {
    const first = await openai.responses.create({ model: agentId, input: "First." });
    const second = await openai.responses.create({ model: agentId, input: "Second.", previous_response_id: first.id });
    await openai.responses.delete(first.id);
    expect(await failureOf(openai.responses.retrieve(first.id))).toBeInstanceOf(OpenAI.NotFoundError);
    expect((await openai.responses.retrieve(second.id)).status).toBe("completed");
    await openai.responses.delete(second.id);
    expect(await failureOf(openai.responses.retrieve(second.id))).toBeInstanceOf(OpenAI.NotFoundError);
  });

  test("lists the agents as models", async () => {
    const models = [];
    for await (const model of openai.models.list()) models.push(model);
    expect(models.map(({ id }) => id)).toContain(agentId);
    expect(await openai.models.retrieve(agentId)).toMatchObject({ id: agentId, object: "model" });
  });

  test("reads an error's fields", async () => {
    const bad = await failureOf(openai.responses.create({ model: agentId, input: "Hi.", temperature: 3 }));
    expect(bad).toBeInstanceOf(OpenAI.BadRequestError);
    expect(bad).toMatchObject({
      status: 400,
      code: "validation_failed",
      type: "invalid_request",
      param: "temperature",
    });
    expect(bad.requestID).toMatch(/^req_/);
    const other = await failureOf(openai.models.retrieve("ag_000000000000000000000000"));
    expect(other).toMatchObject({ status: 404, type: "not_found", code: "not_found" });
    const stranger = openaiOf(h, { ...t, token: "nobody" });
    expect(await failureOf(stranger.models.list())).toBeInstanceOf(OpenAI.AuthenticationError);
  });
});

type ApiFailure = InstanceType<typeof OpenAI.APIError>;

/** The error that a call of the client fails with. */
async function failureOf(call: PromiseLike<unknown>): Promise<ApiFailure> {
  return call.then(
    () => Promise.reject(new Error("The call did not fail.")),
    (error: ApiFailure) => error,
  );
}

/** The client adds what it has parsed to the items. */
function withoutParsed(key: string, value: unknown): unknown {
  return key === "parsed" || key === "parsed_arguments" ? undefined : value;
}
