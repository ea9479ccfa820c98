/**
 * The baseline: the least that streams an agent's answer over HTTP. No queue, no
 * store, no relay, no tenants; one process.
 *
 *     bun loadtest/bare.ts --port 9200 --model http://127.0.0.1:9100/v1
 */
import { parseArgs } from "node:util";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  convertToModelMessages,
  createUIMessageStreamResponse,
  streamText,
  toUIMessageStream,
  type UIMessage,
} from "ai";
import { Elysia } from "elysia";
import { listen } from "../src/kernel/runtime.ts";

const { values } = parseArgs({ options: { port: { type: "string" }, model: { type: "string" } } });
const provider = createOpenAICompatible({ name: "bare", baseURL: values.model ?? "", includeUsage: true });

const app = new Elysia().post("/", async ({ body }) => {
  // What was said before comes with each request: nothing is stored here.
  const { message, messages = [] } = body as { message: UIMessage; messages?: UIMessage[] };
  const prompt = await convertToModelMessages([...messages, message]);
  const result = streamText({ model: provider("simulated/model"), messages: prompt });
  return createUIMessageStreamResponse({ stream: toUIMessageStream({ stream: result.stream }) });
});

const server = listen({
  hostname: "127.0.0.1",
  port: Number(values.port ?? 0),
  fetch: (request) => app.handle(request),
});
process.stdout.write(`http://127.0.0.1:${server.port}\n`);
