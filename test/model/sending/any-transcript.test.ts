import { describe, expect, test } from "bun:test";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createOpenRouter } from "@openrouter/ai-sdk-provider";
import { type JSONSchema7, jsonSchema, type LanguageModel, type ModelMessage, type ToolSet, tool } from "ai";
import fc from "fast-check";
import type { UiMessage } from "../../../src/messages/ui-message.ts";
import { CallValues } from "../../../src/model/call-values.ts";
import { callModel } from "../../../src/model/model-call.ts";
import { modelMessages } from "../../../src/model/prompt.ts";
import { Refusals } from "../../../src/model/sending/refusals.ts";
import { ModelSpans } from "../../../src/model/spans.ts";
import { TurnFiles } from "../../../src/model/turn-files.ts";
import { judges } from "../../harness/vendor-judges.ts";

/** The bodies that arrived; each is refused, so that nothing more is asked. */
const bodies: Record<string, unknown>[] = [];
const capturing = (async (_url: unknown, init?: RequestInit) => {
  bodies.push(JSON.parse(String(init?.body)) as Record<string, unknown>);
  return new Response("{}", { status: 401 });
}) as unknown as typeof fetch;
const settings = { apiKey: "k", baseURL: "http://vendor.test/v1", fetch: capturing };
const openrouter = createOpenRouter({ ...settings, compatibility: "strict" });

/** Each model, the judge of its vendor, and whose thoughts it may be sent. */
const models: readonly (readonly [keyof typeof judges, string, LanguageModel])[] = [
  ["OpenAI's Chat Completions", "nobody", createOpenAI(settings).chat("gpt-4o")],
  ["OpenAI's Responses", "openai", createOpenAI(settings).responses("gpt-5")],
  ["Anthropic", "anthropic", createAnthropic(settings)("claude-sonnet-4-5")],
  ["Google", "google", createGoogle(settings)("gemini-2.5-flash")],
  ["Google", "google", createGoogle(settings)("gemini-3-pro")],
  ["common", "chat", createOpenAICompatible({ ...settings, name: "custom" })("any/model")],
  ["Mistral by OpenRouter", "openrouter", openrouter.chat("mistralai/mistral-large")],
  ["Moonshot", "openrouter", openrouter.chat("moonshotai/kimi-k2")],
  ["OpenRouter", "openrouter", openrouter.chat("anthropic/claude-sonnet-4.5")],
];

async function bodyOf(model: LanguageModel, messages: ModelMessage[], tools: ToolSet, instructions = "") {
  bodies.length = 0;
  const call = callModel({
    model,
    instructions,
    messages,
    tools,
    onCallFailed: () => {},
    thinking: {},
    download: () => Promise.resolve([]),
    signal: new AbortController().signal,
    spans: new ModelSpans(),
    meter: { beforeCall: () => Promise.resolve(), onCall: () => {} },
    files: new TurnFiles([]),
    values: new CallValues([]),
    refusals: new Refusals(() => {}),
    format: null,
    retriesMax: 0,
  });
  let failure: unknown = null;
  await call.next().catch((error: unknown) => {
    failure = error;
  });
  if (bodies.length === 0) throw failure;
  return bodies[0] as Record<string, unknown>;
}

const long = "n".repeat(300);
const texts = fc.constantFrom(
  "Hello",
  "",
  "\n\n",
  " \n",
  "\u00a0",
  "\u200b\u2060",
  "Ends with a space ",
  "\u3164",
  "\x1c",
);
const callIds = fc.oneof(
  fc.constantFrom(
    "functions.memory_save:0",
    "call_0",
    "call_0",
    "call_abc|fc_123|x",
    "toolu_01ABC",
    "",
    long,
    "with space",
    "日本",
    "abcdefghi",
  ),
  fc.string({ maxLength: 70 }),
);
const toolNames = fc.constantFrom(
  "read",
  "do.it",
  "a b",
  "<|channel|>commentary",
  long,
  "",
  "3d__render",
  "日本語",
  "-x",
  "functions.read",
  "__proto__",
  "constructor",
  "toString",
  "x",
  "1",
);
const inputs = fc.constantFrom<unknown>({ a: 1 }, {}, "text", "", [1], null, "{broken", '{"a":1}', "[1]", 5, true);
const outputs = fc.constantFrom<unknown>("done", "", " ", { a: 1 }, null, [], "\n", 0, false);

const makers = ["chat", "anthropic", "google", "openai", "openrouter", "bedrock"];
const thoughtOf = (maker: string, providerMetadata?: object) => ({
  type: "reasoning",
  text: `${maker} thinks`,
  ...(providerMetadata === undefined ? {} : { providerMetadata }),
});
const details = [{ type: "reasoning.text", text: "openrouter thinks", format: "anthropic-claude-v1", signature: "s" }];
const thoughts = fc
  .constantFrom(
    thoughtOf("chat"),
    thoughtOf("anthropic", { anthropic: { signature: "signed" } }),
    thoughtOf("anthropic", { anthropic: { signature: "" } }),
    thoughtOf("anthropic", { anthropic: {} }),
    thoughtOf("anthropic", { anthropic: { redactedData: "sealed" } }),
    thoughtOf("google", { google: { thoughtSignature: "signed" } }),
    thoughtOf("google", { google: {} }),
    thoughtOf("openai", { openai: { itemId: "rs_1", reasoningEncryptedContent: null } }),
    thoughtOf("openrouter", { openrouter: { reasoning_details: details } }),
    thoughtOf("bedrock", { bedrock: { signature: "signed" } }),
  )
  .chain((thought) =>
    texts.map((text) => (text === "Hello" ? thought : { ...thought, text: text.trim() === "" ? text : thought.text })),
  );

const metadata = fc.constantFrom<object>(
  {},
  {},
  { providerMetadata: { openai: { itemId: "msg_1" } } },
  { providerMetadata: { google: { thoughtSignature: "of a text" } } },
);
const said = fc.tuple(texts, metadata).map(([text, more]) => ({ type: "text", text, ...more }));
const states = fc.constantFrom(
  "output-available",
  "output-available",
  "output-error",
  "output-denied",
  "input-streaming",
  "input-available",
  "approval-requested",
);
const calls = fc
  .record({
    id: callIds,
    name: toolNames,
    input: inputs,
    output: outputs,
    state: states,
    dynamic: fc.boolean(),
    ran: fc.integer({ min: 0, max: 9 }),
  })
  .map(({ id, name, input, output, state, dynamic, ran }) => ({
    ...(dynamic ? { type: "dynamic-tool", toolName: name } : { type: `tool-${name}` }),
    toolCallId: id,
    state,
    input,
    ...(state === "output-available" ? { output } : {}),
    ...(state === "output-error" ? { errorText: String(output) } : {}),
    ...(state === "output-denied" ? { approval: { id: "ap_1", approved: false, reason: String(output) } } : {}),
    ...(state === "approval-requested" ? { approval: { id: "ap_1" } } : {}),
    ...(ran === 0 ? { providerExecuted: true } : {}),
    ...(ran === 1
      ? { callProviderMetadata: { google: { thoughtSignature: "of a call" }, openai: { itemId: "fc_1" } } }
      : {}),
    ...(ran === 2 ? { callProviderMetadata: { openrouter: { reasoning_details: details } } } : {}),
  }));
const png = "data:image/png;base64,iVBORw0KGgo=";
const odd = fc.constantFrom(
  { type: "file", mediaType: "image/png", url: png },
  { type: "file", mediaType: "image/png", url: "https://files.test/a.png" },
  { type: "custom", kind: "anthropic.message_start", providerMetadata: { anthropic: { usage: {} } } },
  { type: "source-url", sourceId: "s", url: "https://a.test" },
  { type: "data-note", data: {} },
);
const step = fc
  .array(
    fc.oneof({ weight: 3, arbitrary: said }, { weight: 3, arbitrary: calls }, { weight: 2, arbitrary: thoughts }, odd),
    { maxLength: 4 },
  )
  .map((parts) => [{ type: "step-start" }, ...parts]);
const answer = fc
  .array(step, { maxLength: 3 })
  .map((steps) => ({ id: "a", role: "assistant" as const, parts: steps.flat() }));
const question = fc
  .array(
    fc.oneof(
      texts.map((text) => ({ type: "text", text })),
      fc.constant({ type: "file", mediaType: "image/png", url: png }),
    ),
    { maxLength: 3 },
  )
  .map((parts) => ({ id: "q", role: "user" as const, parts }));
const last: UiMessage = { id: "q", role: "user", parts: [{ type: "text", text: "And now?" }] };
const transcripts = fc
  .array(fc.oneof({ weight: 2, arbitrary: answer }, question), { maxLength: 5 })
  .chain((messages) => fc.boolean().map((isAsked) => (isAsked ? [...messages, last] : messages)));

const noTools: ToolSet = {};
const someTools: ToolSet = { read: tool({ inputSchema: jsonSchema({ type: "object" }) }) };

describe("any transcript that a vendor's model can leave is sent to any vendor as its rules want it", () => {
  test.each(models)("%s, with thoughts of %s alone", async (vendor, maker, model) => {
    const judge = judges[vendor];
    await fc.assert(
      fc.asyncProperty(
        transcripts,
        fc.boolean(),
        fc.constantFrom("", " \n", "You help."),
        async (messages, hasTools, instructions) => {
          const sent = await modelMessages(structuredClone(messages) as unknown as UiMessage[]);
          const body = await bodyOf(model, sent, hasTools ? someTools : noTools, instructions);
          expect(judge(body)).toBeNull();
          const others = makers.filter((other) => other !== maker && JSON.stringify(body).includes(`${other} thinks`));
          expect(others).toEqual([]);
        },
      ),
      { numRuns: 100 },
    );
  });
});

/** Schemas that servers and clients have been seen to send. */
const schemas: readonly unknown[] = [
  { type: "object" },
  {},
  { type: "object", properties: null, required: null },
  { properties: { a: { type: "array" } } },
  { type: "object", properties: { a: { type: "array", items: [{ type: "string" }, { type: "number" }] } } },
  { type: "object", properties: { a: { type: "object" }, b: true, c: {} }, required: ["a", "missing", "a"] },
  { type: "object", properties: { a: { type: "string", required: true }, b: { type: "string", required: false } } },
  {
    type: "object",
    properties: { when: { type: "string", format: "uri" }, kind: { type: "string", enum: ["", "a", "a"] } },
  },
  { type: "object", properties: { kind: { enum: ["text", "raw"] }, one: { const: 1 }, none: { enum: [] } } },
  { type: "object", properties: { a: { type: ["string", "null", "string"] }, b: { type: "any" }, c: { type: [] } } },
  { type: "object", properties: { a: { type: "number", minimum: 1, exclusiveMinimum: true, maximum: "9" } } },
  {
    type: "object",
    properties: { a: { $ref: "#/definitions/A" } },
    definitions: { A: { type: "object", properties: { b: { $ref: "#/definitions/A" } } } },
  },
  {
    type: "object",
    properties: { a: { $ref: "https://else.test/a.json" }, b: { $ref: "#/properties/a" }, c: { $ref: "#/nowhere" } },
  },
  { $ref: "#/$defs/Args", $defs: { Args: { type: "object", properties: { a: { type: "string" } } } } },
  {
    type: "object",
    properties: { a: { description: "one of", type: "string", anyOf: [{ format: "uri" }, { enum: ["x"] }] } },
  },
  {
    type: "object",
    properties: { a: { anyOf: [{ type: "string" }, { type: "null" }], default: null, description: "Maybe." } },
  },
  { allOf: [{ type: "object", properties: { a: { type: "string" } }, required: ["a"] }, { properties: { b: {} } }] },
  { type: "object", anyOf: [{ properties: { a: {} } }] },
  {
    type: "object",
    properties: { $filter: { type: "string" }, "user name": { type: "string" }, "@type": {} },
    required: ["$filter"],
  },
  {
    type: "object",
    title: null,
    description: 5,
    $schema: "http://json-schema.org/draft-07/schema#",
    properties: { a: { title: null } },
  },
  { type: "object", properties: { type: "object", a: "string" } },
  { type: "object", properties: { a: { anyOf: [] }, b: { oneOf: null }, c: { allOf: [{ $ref: "#/nowhere" }] } } },
  { type: "object", properties: { node: { type: "array", items: { $ref: "#/properties/node" } } } },
];

describe("the schema of any tool is sent as the vendor's rules want it", () => {
  test.each(models)("%s", async (vendor, _maker, model) => {
    for (const schema of schemas) {
      const tools: ToolSet = {
        "3d__render": tool({ description: " ", inputSchema: jsonSchema(structuredClone(schema) as JSONSchema7) }),
        _3d__render: tool({ description: "Does it.", inputSchema: jsonSchema({ type: "object" }) }),
      };
      const body = await bodyOf(model, await modelMessages([last]), tools);
      expect([schema, judges[vendor](body)]).toEqual([schema, null]);
      expect(JSON.stringify(body)).toContain("Does it.");
    }
  });
});
