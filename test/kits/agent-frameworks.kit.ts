/**
 * Frameworks of others for agents, which speak the Responses API of OpenAI: each runs in a process of its own, with
 * nothing of ours but the URL and a key, and with an agent's id as its model. `npm run test:kits` fetches them and runs this.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { listen } from "../../src/kernel/runtime.ts";
import { useAgent } from "../harness/fixture.ts";
import { chatAnswer } from "../harness/said-usage.ts";
import { makeAgent, makeProvider } from "../harness/seed.ts";
import { startVendor } from "../servers/vendor.ts";
import { fetchPackages } from "./fetch-kit.ts";

const kit = await fetchPackages("agent-frameworks", {
  dependencies: {
    "@langchain/core": "1.4.0",
    "@langchain/openai": "1.5.8",
    "@openai/agents": "0.20.0",
    zod: "4.6.7",
  },
});
/** All scenarios of one framework, on a busy machine. */
const slowMs = 120_000;

const { h, t, agentId } = await useAgent({ worker: true, agent: { approvalInChat: { default: "full" } } });
const server = listen({ hostname: "127.0.0.1", port: 0, fetch: h.app });
/** A vendor that says what of its tokens it had in its cache, and what it thought. */
const vendor = startVendor(({ body }) =>
  body === null
    ? new Response("no", { status: 404 })
    : chatAnswer({
        ...{ prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 },
        prompt_tokens_details: { cached_tokens: 40 },
        completion_tokens_details: { reasoning_tokens: 30 },
      }),
);
const { id: providerId } = await makeProvider(h, t, { baseUrl: `${vendor.url}/v1` });
const countingAgentId = await makeAgent(h, t, { providerId });
afterAll(async () => {
  await server.stop(true);
  await vendor.stop();
});

/** Runs a program among the frameworks' packages; returns what each of its scenarios came to. */
async function run(name: string, code: string): Promise<Record<string, unknown>> {
  const file = join(kit, name);
  await writeFile(file, code);
  const env = {
    PATH: process.env.PATH ?? "",
    OPENAI_BASE_URL: `http://127.0.0.1:${server.port}/v1`,
    OPENAI_API_KEY: t.token,
    AGENT_ID: agentId,
    COUNTING_AGENT_ID: countingAgentId,
  };
  const { stdout } = await promisify(execFile)(process.execPath, [file], { env });
  return JSON.parse(stdout);
}

/** Scripts of the simulated model, for the programs. */
const scripts = `
const plain = '[[sim: text="Good day."]]';
const calls = '[[sim: tool=city args={"of":"Tagus"} ; text="It is Lisbon."]]';
const twice = '[[sim: tool=city args={"of":"a"} tool=city args={"of":"b"} ; text="Both."]]';
const number = '[[sim: text="{\\\\"n\\\\":1}"]]';
const results = {};
`;

describe("the OpenAI Agents SDK", () => {
  const program = `
import { Agent, MemorySession, run, setTracingDisabled, tool } from "@openai/agents";
import { z } from "zod";
${scripts}
setTracingDisabled(true);
const asked = [];
const city = (needsApproval) => tool({
  name: "city", description: "The city of a river", parameters: z.object({ of: z.string() }), needsApproval,
  execute: async ({ of }) => { asked.push(of); return "Lisbon"; },
});
const agent = (more = {}) =>
  new Agent({ name: "a", instructions: "Be brief.", model: process.env.AGENT_ID, tools: [city(false)], ...more });
const said = async (...words) => (await run(...words)).finalOutput;

results.plain = await said(agent(), plain);
results.tool = await said(agent(), calls);
results.twoCalls = await said(agent(), twice);
results.asked = [...asked];
const first = await run(agent(), calls);
results.previousResponse = await said(agent(), plain, { previousResponseId: first.lastResponseId });
results.history = await said(agent(), [...first.history, { role: "user", content: plain }]);
const session = new MemorySession();
await run(agent(), calls, { session });
results.session = await said(agent(), plain, { session });
results.outputType = await said(agent({ tools: [], outputType: z.object({ n: z.number() }) }), number);
const careful = agent({ tools: [city(true)] });
const held = await run(careful, calls);
held.state.approve(held.interruptions[0]);
results.approval = await said(careful, held.state);
const other = agent({ name: "b", tools: [] });
results.handoff = await said(agent({ handoffs: [other] }), '[[sim: tool=transfer_to_b args={} ; text="From b."]]');
results.required = await said(agent({ modelSettings: { toolChoice: "required" } }), calls);
results.notStored = await said(agent({ modelSettings: { store: false } }), calls);
const stream = await run(agent(), calls, { stream: true });
let streamed = "";
for await (const text of stream.toTextStream()) streamed += text;
await stream.completed;
results.stream = [streamed, stream.finalOutput];
results.refused = await said(agent({ modelSettings: { temperature: 3 } }), plain).catch(({ status, param }) => [status, param]);
console.log(JSON.stringify(results));
`;
  test(
    "talks, calls tools, holds them, hands over, streams and remembers",
    async () => {
      expect(await run("openai-agents.mjs", program)).toEqual({
        plain: "Good day.",
        tool: "It is Lisbon.",
        twoCalls: "Both.",
        asked: ["Tagus", "a", "b"],
        previousResponse: "Good day.",
        history: "Good day.",
        session: "Good day.",
        outputType: { n: 1 },
        approval: "It is Lisbon.",
        handoff: "From b.",
        required: "It is Lisbon.",
        notStored: "It is Lisbon.",
        stream: ["It is Lisbon.", "It is Lisbon."],
        refused: [400, "temperature"],
      });
    },
    slowMs,
  );
});

describe("LangChain's ChatOpenAI", () => {
  const program = `
import { HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
${scripts}
const model = (more = {}) => new ChatOpenAI({ model: process.env.AGENT_ID, useResponsesApi: true, maxRetries: 0, ...more });
const city = tool(async () => "Lisbon", { name: "city", description: "The city of a river", schema: z.object({ of: z.string() }) });
const withTool = async (chat) => {
  const bound = chat.bindTools([city]);
  const question = new HumanMessage(calls);
  const answer = await bound.invoke([question]);
  const result = await city.invoke(answer.tool_calls[0]);
  return (await bound.invoke([question, answer, result])).text;
};

results.plain = (await model().invoke(plain)).text;
results.stream = "";
for await (const chunk of await model().stream(plain)) results.stream += chunk.text;
results.tool = await withTool(model());
results.notStored = await withTool(model({ zdrEnabled: true }));
results.structured = await model().withStructuredOutput(z.object({ n: z.number() }), { method: "jsonSchema" }).invoke(number);
results.history = (await model().invoke([["system", "Be brief."], ["human", "Hi."], ["ai", "Hello."], ["human", plain]])).text;
const picture = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
results.picture = (await model().invoke([new HumanMessage({ content: [{ type: "text", text: plain }, picture] })])).text;
const counting = model({ model: process.env.COUNTING_AGENT_ID, reasoning: { effort: "low" } });
results.usage = (await counting.invoke(plain)).usage_metadata;
let whole;
for await (const chunk of await counting.stream(plain)) whole = whole === undefined ? chunk : whole.concat(chunk);
results.usageOfStream = whole.usage_metadata;
console.log(JSON.stringify(results));
`;
  const usage = {
    ...{ input_tokens: 100, output_tokens: 50, total_tokens: 150 },
    input_token_details: { cache_read: 40 },
    output_token_details: { reasoning: 30 },
  };
  test(
    "talks, streams, calls tools, fits a schema, and reads cached and reasoning tokens",
    async () => {
      expect(await run("langchain.mjs", program)).toEqual({
        plain: "Good day.",
        stream: "Good day.",
        tool: "It is Lisbon.",
        notStored: "It is Lisbon.",
        structured: { n: 1 },
        history: "Good day.",
        picture: expect.any(String),
        usage: expect.objectContaining(usage),
        usageOfStream: expect.objectContaining(usage),
      });
    },
    slowMs,
  );
});
