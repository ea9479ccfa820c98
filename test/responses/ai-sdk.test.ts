import { describe, expect, test } from "bun:test";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, jsonSchema, Output, streamText, tool } from "ai";
import { useAgent } from "../harness/fixture.ts";
import { makeAgent } from "../harness/seed.ts";

const { h, t, agentId } = await useAgent({ worker: true });
const openai = createOpenAI({
  baseURL: "http://parley.test/v1",
  apiKey: t.token,
  fetch: ((url: string, init: RequestInit) => h.app(new Request(url, init))) as never,
});

const tools = {
  get_weather: tool({
    description: "The weather at a place.",
    inputSchema: jsonSchema<{ location: string }>({
      type: "object",
      properties: { location: { type: "string" } },
      required: ["location"],
    }),
    execute: async ({ location }) => `21 degrees in ${location}`,
  }),
};
const askWeather = '[[sim: tool=get_weather args={"location":"Lisbon"} ; text="It is sunny."]]';

async function sessions(): Promise<number> {
  const [row] = await h.sql`select count(*)::int as rows from sessions where agent_id = ${agentId}`;
  return row?.rows;
}

describe("the AI SDK on OpenAI's provider", () => {
  test("generates a text", async () => {
    const { text, usage, finishReason } = await generateText({
      model: openai.responses(agentId),
      system: "Be brief.",
      prompt: '[[sim: text="Hello there."]]',
    });
    expect([text, finishReason]).toEqual(["Hello there.", "stop"]);
    expect(usage.totalTokens).toBeGreaterThan(0);
    expect(JSON.stringify(h.model.requests().at(-1)?.body)).toContain("Be brief.");
  });

  for (const store of [true, false])
    test(`runs its own tools and goes on, with store: ${store}`, async () => {
      h.model.clear();
      const before = await sessions();
      const result = await generateText({
        model: openai.responses(agentId),
        prompt: askWeather,
        tools,
        stopWhen: isStepCount(3),
        providerOptions: { openai: { store } },
      });
      expect(result.text).toBe("It is sunny.");
      expect(JSON.stringify(h.model.requests().at(-1)?.body)).toContain("21 degrees in Lisbon");
      expect((await sessions()) - before).toBe(store ? 1 : 0);
    });

  test("streams a text, and the calls that run in the agent", async () => {
    const agent = await makeAgent(h, t, { tools: ["memory"] });
    const result = streamText({
      model: openai.responses(agent),
      prompt: '[[sim: reasoning="Hm." tool=memory_save args={"text":"tea"} ; text="Noted."]]',
    });
    const types = new Set<string>();
    for await (const { type } of result.fullStream) types.add(type);
    expect(await result.text).toBe("Noted.");
    expect([...types]).toEqual(expect.arrayContaining(["reasoning-delta", "tool-call", "tool-result", "text-delta"]));
    expect(types).not.toContain("error");
  });

  test("reads the calls that run in the agent in a whole response too", async () => {
    const agent = await makeAgent(h, t, { tools: ["memory"] });
    const { text, steps } = await generateText({
      model: openai.responses(agent),
      prompt: '[[sim: tool=memory_save args={"text":"tea"} ; text="Noted."]]',
    });
    expect([text, steps.length]).toEqual(["Noted.", 1]);
    expect(steps[0]?.toolResults.length).toBe(1);
  });

  test("gets an object by schema", async () => {
    const schema = jsonSchema<{ celsius: number }>({
      type: "object",
      properties: { celsius: { type: "number" } },
      required: ["celsius"],
      additionalProperties: false,
    });
    const { output } = await generateText({
      model: openai.responses(agentId),
      prompt: '[[sim: text="{\\"celsius\\": 21.5}"]]',
      output: Output.object({ schema }),
    });
    expect(output).toEqual({ celsius: 21.5 });
  });

  test("is told that a turn failed", async () => {
    const failed = generateText({
      model: openai.responses(agentId),
      prompt: "[[sim: fail=401]]",
      maxRetries: 0,
    });
    await expect(failed).rejects.toThrow("status 401");
  });
});
