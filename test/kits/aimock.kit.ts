/**
 * `aimock`, other people's stand-in for the vendors of models, as the provider of an agent's
 * turns: answers, tool calls, and each way in which a model can fail. `npm run test:kits`
 * fetches it and runs this.
 */
import { afterAll, describe, expect, test } from "bun:test";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { useTenant } from "../harness/fixture.ts";
import { makeAgent, makeProvider, userMessage } from "../harness/seed.ts";
import { messagesOf, play, textOf } from "../harness/turns.ts";
import { fetchKit } from "./fetch-kit.ts";

const kit = "@copilotkit/aimock@1.43.0";

/** What of the kit is in use. */
interface Mock {
  readonly url: string;
  start(): Promise<unknown>;
  stop(): Promise<unknown>;
  onMessage(pattern: RegExp, response: object, options?: object): this;
  mount(
    path: string,
    handler: { handleRequest(request: IncomingMessage, response: ServerResponse): Promise<boolean> },
  ): this;
}
const { LLMock } = (await import(join(await fetchKit(kit), "dist", "index.js"))) as {
  LLMock: new (options: object) => Mock;
};

const todos = JSON.stringify({ todos: [{ content: "Water the plants", status: "pending" }] });
const listTodos = ({ messages, model }: { messages: { role: string }[]; model: string }) =>
  messages.at(-1)?.role === "tool"
    ? { content: "They are listed." }
    : // Of Google's shape the kit ends a call for a reason that Gemini does not have; calls are made after known ones alone.
      {
        toolCalls: [{ name: "write_todos", arguments: todos }],
        ...(model.startsWith("gemini") ? { finishReason: "stop" } : {}),
      };
const refusals = [400, 401, 403, 404, 422, 429, 500, 503];

const mock = new LLMock({ port: 0, logLevel: "silent" })
  .onMessage(/^Hello$/, { content: "Good day to you." })
  .onMessage(/^Think$/, { content: "So it is.", reasoning: "Is it so?" })
  .onMessage(/^Go on and on$/, { content: "And on and", finishReason: "length" })
  .onMessage(/^Plants$/, listTodos)
  .onMessage(
    /^Break off$/,
    { content: "one two three four five six" },
    { chunkSize: 4, latency: 20, truncateAfterChunks: 3 },
  )
  .onMessage(/^Garbage$/, { content: "x" }, { chaos: { malformedRate: 1 } })
  .onMessage(/^Hang up$/, { content: "x" }, { chaos: { disconnectRate: 1 } });
for (const status of refusals)
  mock.onMessage(new RegExp(`^Refuse ${status}$`), { error: { message: "a secret of the vendor", type: "x" }, status });
// No answer of any vendor, as 200 and JSON.
mock.mount("/other", {
  handleRequest: async ({ method }, response) => {
    // There is no list of models, so any model is taken.
    response.writeHead(method === "POST" ? 200 : 404, { "content-type": "application/json" }).end('{"hello":"world"}');
    return true;
  },
});
await mock.start();
afterAll(() => mock.stop());

const { h, t } = await useTenant({ worker: true });
/** OpenAI's own API, where it speaks Responses; requests to it go to the kit. */
const openai = "https://api.openai.com";
const network = globalThis.fetch;
const redirected = (input: string | URL | Request, init?: RequestInit) =>
  network(String(input instanceof Request ? input.url : input).replace(openai, mock.url), init);
globalThis.fetch = Object.assign(redirected, { preconnect: network.preconnect });
afterAll(() => {
  globalThis.fetch = network;
});

const shapes = [
  ["OpenAI's Responses", "openai", null, "openai/gpt-4o"],
  ["OpenAI's Chat Completions", "openai", "/v1", "openai/gpt-4o"],
  ["Anthropic's Messages", "anthropic", "/v1", "anthropic/claude-3-5-sonnet-20241022"],
  ["Google's streamGenerateContent", "google", "/v1beta", "google/gemini-2.5-flash"],
  ["OpenRouter's Chat Completions", "openrouter", "/api/v1", "openai/gpt-4o"],
] as const;

const agentAt = async (providerType: (typeof shapes)[number][1], path: string | null, model: string) => {
  const provider = await makeProvider(h, t, { providerType, baseUrl: path === null ? null : `${mock.url}${path}` });
  return makeAgent(h, t, {
    providerId: provider.id,
    model,
    tools: ["write_todos"],
    approvalInChat: { default: "full", overrides: [] },
  });
};

describe.each(shapes)("%s", async (_name, providerType, path, model) => {
  const agentId = await agentAt(providerType, path, model);
  const say = (text: string) => play(t, agentId, null, { message: userMessage(text) });

  test("an answer", async () => {
    const { chunks, sessionId } = await say("Hello");
    expect(textOf(chunks)).toBe("Good day to you.");
    expect(chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
    expect(await messagesOf(t, agentId, sessionId)).toHaveLength(2);
  });

  test("an answer with its thoughts", async () => {
    const { chunks } = await say("Think");
    expect(textOf(chunks)).toBe("So it is.");
    expect(chunks.at(-1)).toMatchObject({ type: "finish" });
  });

  // The kit's Responses name no reason (`incomplete_details`) with the status `incomplete`.
  test.skipIf(path === null)("an answer that is cut off for its length", async () => {
    const { chunks } = await say("Go on and on");
    expect(textOf(chunks)).toBe("And on and");
    expect(chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "length" });
  });

  test("a tool call, and the answer to its result", async () => {
    const { chunks } = await say("Plants");
    expect(chunks.filter(({ type }) => type === "tool-output-available")).toHaveLength(1);
    expect([textOf(chunks), chunks.at(-1)?.type]).toEqual(["They are listed.", "finish"]);
  });

  test.each(["Break off", "Garbage", "Hang up"])("%s: the turn fails, and nothing is kept", async (text) => {
    const { chunks, sessionId } = await say(text);
    expect(chunks.at(-1)).toMatchObject({ type: "error" });
    expect(await messagesOf(t, agentId, sessionId)).toEqual([]);
  });

  test.each(refusals)("a refusal with %i is said, without the vendor's words", async (status) => {
    const { chunks } = await say(`Refuse ${status}`);
    expect(chunks.at(-1)).toEqual({ type: "error", errorText: `The model provider answered with status ${status}.` });
  });

  // OpenAI's Responses are at its own address alone.
  test.skipIf(path === null)("a 200 with JSON that is no answer fails the turn", async () => {
    const elsewhere = await agentAt(providerType, "/other", model);
    const body = { message: userMessage("Hello"), stream: false };
    const { status, body: said } = await play(t, elsewhere, null, body);
    expect([status, said.error?.code]).toEqual([502, "provider_error"]);
  });
});
