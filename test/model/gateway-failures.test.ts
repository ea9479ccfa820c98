import { afterAll, expect, test } from "bun:test";
import { createGateway } from "@ai-sdk/gateway";
import { createOpenAI } from "@ai-sdk/openai";
import { jsonSchema, type LanguageModel, tool } from "ai";
import { startTracing } from "../../src/kernel/telemetry/trace-export.ts";
import type { OpenModel } from "../../src/model/model-chain.ts";
import type { CallUsage } from "../../src/model/token-counts.ts";
import { startSimulatedModel } from "../../src/simulated-model/server.ts";
import type { TurnTool } from "../../src/tools/tool.ts";
import { eventually } from "../harness/eventually.ts";
import { runModelAlone } from "../harness/run-model.ts";
import { startCollector } from "../servers/collector.ts";
import { startVendor, type VendorRequest } from "../servers/vendor.ts";

/** The gateway's client wraps a failed request in an error of another class, which has no response. */
const refused = (status: number, message: string) =>
  Response.json({ error: { type: "invalid_request_error", message } }, { status });
let respond: (request: VendorRequest) => Response = () => refused(400, "no");
const gateway = startVendor((request) => respond(request));
const simulated = await startSimulatedModel();
afterAll(async () => {
  await gateway.stop();
  await simulated.stop();
});

const model = createGateway({ baseURL: gateway.url, apiKey: "key" })("vendor/model");
const other = createOpenAI({ baseURL: simulated.url, apiKey: "key" }).responses("gpt-4o");
const opened =
  (one: LanguageModel): OpenModel =>
  async () => ({ model: one, thinking: {}, settings: {}, roomTokens: null, isForeign: false });

test("a request that a gateway refused has used nothing, and no other model is asked", async () => {
  respond = () => refused(400, "The prompt is not allowed.");
  simulated.clear();
  const used: CallUsage[] = [];
  const meter = { beforeCall: () => Promise.resolve(), onCall: (usage: CallUsage) => void used.push(usage) };
  const { error } = await runModelAlone(model, { chain: [opened(model), opened(other)], meter });
  expect(error).toBeInstanceOf(Error);
  expect(simulated.requests()).toEqual([]);
  expect(used).toEqual([]);
});

test("a gateway that is overloaded leaves the answer to the next model", async () => {
  respond = () => refused(503, "Later.");
  simulated.clear();
  const { ended } = await runModelAlone(model, { chain: [opened(model), opened(other)] });
  expect(ended).toBe("finished");
  expect(simulated.requests()).toHaveLength(1);
});

test("a gateway's refusal of a tool has it asked once more without", async () => {
  const usage = { inputTokens: { total: 7 }, outputTokens: { total: 3 } };
  const answer = [
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "Good day" },
    { type: "text-end", id: "0" },
    { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
  ];
  respond = ({ body }) =>
    body.tools === undefined
      ? new Response(answer.map((part) => `data: ${JSON.stringify(part)}\n\n`).join(""), {
          headers: { "content-type": "text/event-stream" },
        })
      : refused(400, "Invalid schema for function 'odd'.");
  const odd: TurnTool = {
    name: "odd",
    tool: tool({ inputSchema: jsonSchema({ type: "object", properties: {} }), execute: () => "" }),
    source: { kind: "builtin" },
    readOnly: true,
  };
  gateway.requests.length = 0;
  const { message, error } = await runModelAlone(model, { tools: [odd] });
  expect(error).toBeNull();
  expect(JSON.stringify(message.parts)).toContain("Good day");
  expect(gateway.requests.map(({ body }) => body.tools?.length ?? 0)).toEqual([1, 0]);
});

test("the span of a call that a gateway refused says with which status", async () => {
  respond = () => refused(401, "no");
  await using collector = await startCollector();
  const stop = await startTracing({ endpoint: collector.url, serviceName: "test", content: false });
  try {
    await runModelAlone(model);
  } finally {
    await stop();
  }
  const span = await eventually(() => collector.spans.find(({ name }) => name === "chat vendor/model"));
  expect(span.attributes["error.type"]).toBe("401");
});
