import { describe, expect, test } from "bun:test";
import type { ProviderType } from "../../src/kernel/config.ts";
import { newId } from "../../src/kernel/ids.ts";
import type { ResponseFormat } from "../../src/model/response-format.ts";
import type { ModelResult } from "../../src/model/run-model.ts";
import { languageModel } from "../../src/providers/client.ts";
import { useService } from "../harness/fixture.ts";
import { useVendors } from "../harness/provider-fixture.ts";
import { runModelAlone } from "../harness/run-model.ts";

const h = await useService();
const vendor = useVendors();

const schema = {
  type: "object",
  properties: { age: { type: "integer" } },
  required: ["age"],
  additionalProperties: false,
} as const;
const format: ResponseFormat = { type: "json_schema", name: "person", schema };
const open: ResponseFormat = { type: "json_schema", schema: { type: "object", properties: { age: {} } } };

/** Has a model behind a stand-in of its vendor answer by a schema; returns what it was sent, and its answer. */
async function ask(
  providerType: ProviderType,
  model: string,
  events: readonly object[],
  asked = format,
): Promise<{ body: Record<string, unknown>; result: ModelResult }> {
  const server = vendor(() => {
    const lines = events.map((event) => {
      const { type } = event as { type?: string };
      return `${type === undefined ? "" : `event: ${type}\n`}data: ${JSON.stringify(event)}\n\n`;
    });
    return new Response(lines.join(""), { headers: { "content-type": "text/event-stream" } });
  });
  const provider = { id: newId("provider"), tenantId: null, providerType, baseUrl: `${server.url}/v1`, apiKey: "key" };
  const result = await runModelAlone(languageModel(h.ctx, provider, model), { format: asked, modelCallsMax: 3 });
  expect([result.error, result.ended]).toEqual([null, "finished"]);
  expect(server.requests).toHaveLength(1);
  return { body: server.requests[0]?.body, result };
}

const textOf = ({ message }: ModelResult) => (message.parts.at(-1) as { text?: string }).text;

const answer = '{"age":7}';
const message = { id: "m", type: "message", role: "assistant", model: "c", content: [] };
const anthropic = (block: object, delta: object, stop_reason: string) => [
  { type: "message_start", message: { ...message, usage: { input_tokens: 7, output_tokens: 1 } } },
  { type: "content_block_start", index: 0, content_block: block },
  { type: "content_block_delta", index: 0, delta },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 3 } },
  { type: "message_stop" },
];
const chat = [
  { id: "c", choices: [{ index: 0, delta: { role: "assistant", content: answer }, finish_reason: null }] },
  { id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  { id: "c", choices: [], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } },
];

describe("an answer by schema is asked for in the provider's own way", () => {
  test("llm_vendor_b: Anthropic's output format", async () => {
    const text = anthropic({ type: "text", text: "" }, { type: "text_delta", text: answer }, "end_turn");
    const { body, result } = await ask("llm_vendor_b", "anthropic/claude-opus-5-5", text);
    expect(body.output_config).toMatchObject({ format: { type: "json_schema", schema } });
    expect(textOf(result)).toBe(answer);
  });

  test("llm_vendor_b: a tool, where the model has no format; its input is the text", async () => {
    const block = { type: "tool_use", id: "t", name: "json", input: {} };
    const events = anthropic(block, { type: "input_json_delta", partial_json: answer }, "tool_use");
    const { body, result } = await ask("llm_vendor_b", "anthropic/claude-3-haiku-20240307", events);
    expect(body.tools).toMatchObject([{ name: "json", input_schema: schema }]);
    expect(textOf(result)).toBe(answer);
  });

  test("llm_vendor_c: Google's response schema", async () => {
    const usageMetadata = { promptTokenCount: 7, candidatesTokenCount: 3, totalTokenCount: 10 };
    const content = { role: "model", parts: [{ text: answer }] };
    const events = [{ candidates: [{ content, finishReason: "STOP", index: 0 }], usageMetadata }];
    const { body, result } = await ask("llm_vendor_c", "google/gemini-3-flash-preview", events);
    const asked = body.generationConfig as Record<string, unknown>;
    expect(asked.responseMimeType).toBe("application/json");
    expect(asked.responseJsonSchema).toMatchObject({ required: ["age"] });
    expect(textOf(result)).toBe(answer);
  });

  test.each(["llm_vendor_a", "custom", "router_vendor"] as const)(
    "%s: response_format, strict where the schema allows it",
    async (type) => {
      const strict = await ask(type, "openai/gpt-4o-mini", chat);
      expect(strict.body.response_format).toMatchObject({
        type: "json_schema",
        json_schema: { name: "person", schema, strict: true },
      });
      expect(textOf(strict.result)).toBe(answer);
      const loose = await ask(type, "openai/gpt-4o-mini", chat, open);
      expect(loose.body.response_format).toMatchObject({ type: "json_schema", json_schema: { strict: false } });
    },
  );
});
