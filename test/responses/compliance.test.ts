/** The rules that the compliance tests of Open Responses judge by, over HTTP (docs/interoperability.md). */
import { afterAll, describe, expect, test } from "bun:test";
import { invalidValues } from "../contract/invalid-values.ts";
import { useTenant } from "../harness/fixture.ts";
import { makeAgent, makeProvider } from "../harness/seed.ts";
import { spokenText, startToolCaller } from "../servers/tool-caller.ts";
import { eventSchema, eventsOf, responseSchema } from "./protocol.ts";

const { h, t } = await useTenant({ worker: true });
const model = startToolCaller();
afterAll(() => model.stop());
const provider = await makeProvider(h, t, { baseUrl: model.url });
const agentId = await makeAgent(h, t, { providerId: provider.id, model: "tool-caller" });

const picture =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const getWeather = {
  type: "function",
  name: "get_weather",
  description: "Get the current weather for a location",
  parameters: { type: "object", properties: { location: { type: "string" } }, required: ["location"] },
};

const post = (body: object) => t.call("POST", "/v1/responses", { body: { model: agentId, ...body } });

/** A response that fits the specification, with this status and something in its output. */
async function respond(body: object, status = "completed") {
  const response = await post(body);
  expect([response.status, response.status === 200 ? null : response.body]).toEqual([200, null]);
  expect(invalidValues("response", () => responseSchema, response.body)).toEqual([]);
  expect(response.body.status).toBe(status);
  expect(response.body.output.length).toBeGreaterThan(0);
  return response.body;
}

const user = (content: unknown) => ({ type: "message", role: "user", content });
const assistant = (content: unknown, fields: object = {}) => ({
  type: "message",
  role: "assistant",
  content,
  ...fields,
});

describe("a response to", () => {
  test("a text", async () => {
    await respond({ input: "Say hello in exactly 3 words." });
  });

  test("a user's message", async () => {
    const { output } = await respond({ input: [user("Say hello in exactly 3 words.")] });
    expect(output[0].content[0].text).toBe(spokenText);
  });

  test("a system's message before it, which the model is told as such", async () => {
    await respond({ input: [{ type: "message", role: "system", content: "Speak as a pirate." }, user("Say hello.")] });
    const [first, ...others] = model.requests.at(-1)?.body.messages ?? [];
    expect(first.role).toBe("system");
    expect(JSON.stringify(first)).toContain("Speak as a pirate.");
    expect(JSON.stringify(others)).not.toContain("pirate");
  });

  test("a conversation, in its order", async () => {
    await respond({ input: [user("My name is Alice."), assistant("Hello Alice!"), user("What is my name?")] });
    const { messages } = model.requests.at(-1)?.body ?? {};
    const said = messages.filter(({ role }: { role: string }) => role !== "system");
    expect(said.map(({ role }: { role: string }) => role)).toEqual(["user", "assistant", "user"]);
  });

  test("messages of the assistant with a phase", async () => {
    await respond({
      input: [
        assistant("I should answer with the saved number.", { phase: "commentary" }),
        assistant("The number is four.", { phase: "final_answer" }),
        user("Repeat only the number."),
      ],
    });
  });

  test("a picture", async () => {
    await respond({
      input: [
        user([
          { type: "input_text", text: "What is in this image?" },
          { type: "input_image", image_url: picture, detail: "auto" },
        ]),
      ],
    });
    expect(JSON.stringify(model.requests.at(-1)?.body)).toContain(picture);
  });

  test("a question that needs a function", async () => {
    const { output } = await respond({ input: [user("What's the weather like?")], tools: [getWeather] });
    expect(output.map(({ type }: { type: string }) => type)).toContain("function_call");
  });

  test("the output of the function, which was chosen by name", async () => {
    const choice = { type: "function", name: "get_weather" };
    const first = await respond({ input: "The temperature?", tools: [getWeather], tool_choice: choice });
    expect(model.requests.at(-1)?.body.tool_choice).toMatchObject({ function: { name: "get_weather" } });
    const call = first.output.find(({ type }: { type: string }) => type === "function_call");
    const result = { type: "function_call_output", call_id: call.call_id, output: "64 degrees and clear" };
    await respond({ previous_response_id: first.id, input: [result] });
    expect(JSON.stringify(model.requests.at(-1)?.body.messages)).toContain("64 degrees and clear");
    expect(model.requests.at(-1)?.body.tool_choice).toBe("auto");
  });

  test("what follows a previous response", async () => {
    const first = await respond({ input: "Remember this code word: papaya." });
    const second = await respond({ previous_response_id: first.id, input: "What code word?" });
    expect(second.previous_response_id).toBe(first.id);
    expect(JSON.stringify(model.requests.at(-1)?.body.messages)).toContain("papaya");
  });
});

describe("a stream", () => {
  const streamOf = async (body: object) => {
    const response = await post({ ...body, stream: true });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    return eventsOf(response.body);
  };

  for (const [what, body] of [
    ["of text", { input: [user("Count from 1 to 5.")] }],
    ["of a function call", { input: [user("What's the weather like?")], tools: [getWeather] }],
  ] as const)
    test(`${what} has events as they are specified, numbered from 0, and ends with [DONE]`, async () => {
      const events = await streamOf(body);
      expect(events.at(-1)).toEqual({ name: "", data: "[DONE]" });
      const told = events.slice(0, -1);
      for (const [number, { name, data }] of told.entries()) {
        expect([data.type, data.sequence_number]).toEqual([name, number]);
        expect([name, invalidValues(name, () => eventSchema(name), data)]).toEqual([name, []]);
      }
      const { response } = told.at(-1)?.data ?? {};
      expect(response.status).toBe("completed");
      // What was told of the items one by one is the output.
      const done = told.filter(({ name }) => name === "response.output_item.done");
      expect(done.map(({ data }) => data.item)).toEqual(response.output);
      expect(done.map(({ data }) => data.output_index)).toEqual(done.map((_, place) => place));
      const read = await t.call("GET", `/v1/responses/${response.id}`);
      expect(read.body).toEqual(response);
    });
});
