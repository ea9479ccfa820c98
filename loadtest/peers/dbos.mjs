/**
 * DBOS: the answer is a workflow whose model call is a step, stored in Postgres
 * when it has ended. Text goes to the client as it comes, through the memory of
 * this process; the last chunks follow the stored step.
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { DBOS } from "@dbos-inc/dbos-sdk";
import { durableCalls } from "@dbos-inc/vercel-ai";
import {
  convertToModelMessages,
  pipeUIMessageStreamToResponse,
  streamText,
  toUIMessageStream,
  wrapLanguageModel,
} from "ai";

const provider = createOpenAICompatible({ name: "dbos", baseURL: process.env.MODEL_URL, includeUsage: true });
const model = wrapLanguageModel({ model: provider("simulated/model"), middleware: durableCalls() });
/** Where the chunks of a workflow go, by its id. */
const readers = new Map();

const answer = DBOS.registerWorkflow(
  async (message) => {
    const result = streamText({ model, messages: await convertToModelMessages([message]), maxRetries: 0 });
    const reader = readers.get(DBOS.workflowID);
    for await (const chunk of toUIMessageStream({ stream: result.stream })) reader?.enqueue(chunk);
    return await result.text;
  },
  { name: "answer" },
);

const server = createServer(async (request, response) => {
  const { message } = await json(request);
  const workflowID = randomUUID();
  const stream = new ReadableStream({ start: (controller) => void readers.set(workflowID, controller) });
  pipeUIMessageStreamToResponse({ response, stream });
  const reader = readers.get(workflowID);
  try {
    const started = await DBOS.startWorkflow(answer, { workflowID })(message);
    await started.getResult();
    reader.close();
  } catch (error) {
    reader.error(error);
  } finally {
    readers.delete(workflowID);
  }
});

DBOS.setConfig({ name: "peer", systemDatabaseUrl: process.env.DATABASE_URL, logLevel: "warn", runAdminServer: false });
await DBOS.launch();
server.listen(Number(process.env.PORT), "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`);
});
