/** Mastra: an agent whose memory is in Postgres, each turn in a thread of its own. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { handleChatStream } from "@mastra/ai-sdk";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { Memory } from "@mastra/memory";
import { PostgresStore } from "@mastra/pg";
import { pipeUIMessageStreamToResponse } from "ai";

const provider = createOpenAICompatible({ name: "mastra", baseURL: process.env.MODEL_URL, includeUsage: true });
const storage = new PostgresStore({ id: "peer", connectionString: process.env.DATABASE_URL });
await storage.init();
const agent = new Agent({
  id: "load",
  name: "load",
  instructions: "Answer.",
  model: provider("simulated/model"),
  memory: new Memory({ options: { lastMessages: 10 } }),
});
const mastra = new Mastra({ storage, agents: { load: agent }, logger: false });

const server = createServer(async (request, response) => {
  const { message } = await json(request);
  const stream = await handleChatStream({
    mastra,
    agentId: "load",
    version: "v7",
    params: { messages: [{ ...message, id: randomUUID() }], memory: { thread: randomUUID(), resource: "user" } },
  });
  pipeUIMessageStreamToResponse({ response, stream });
});

server.listen(Number(process.env.PORT), "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`);
});
