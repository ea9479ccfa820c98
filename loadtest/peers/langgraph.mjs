/**
 * LangGraph: a graph with one node that calls the model, its checkpoints in
 * Postgres, served by LangGraph's own routes. They leave it to their user where
 * threads are kept; here that is a table.
 */
import { serve } from "@hono/node-server";
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { createEmbedServer } from "@langchain/langgraph-api/experimental/embed";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { ChatOpenAI } from "@langchain/openai";
import pg from "pg";

const model = new ChatOpenAI({
  model: "simulated/model",
  apiKey: "sk-load",
  configuration: { baseURL: process.env.MODEL_URL },
});
const graph = new StateGraph(MessagesAnnotation)
  .addNode("answer", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addEdge("__start__", "answer")
  .addEdge("answer", "__end__")
  .compile();

const checkpointer = PostgresSaver.fromConnString(process.env.DATABASE_URL);
await checkpointer.setup();
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
await pool.query("create table thread (thread_id uuid primary key, metadata jsonb not null)");
const first = async (text, values) => (await pool.query(text, values)).rows[0] ?? null;
const threads = {
  get: (id) => first("select thread_id, metadata from thread where thread_id = $1", [id]),
  set: (id, { metadata = {} }) =>
    first(
      `insert into thread values ($1, $2)
       on conflict (thread_id) do update set metadata = thread.metadata || excluded.metadata
       returning thread_id, metadata`,
      [id, metadata],
    ),
  delete: async (id) => void (await pool.query("delete from thread where thread_id = $1", [id])),
};

const { fetch } = createEmbedServer({ graph: { load: graph }, threads, checkpointer });
serve({ fetch, hostname: "127.0.0.1", port: Number(process.env.PORT) }, ({ port }) => {
  process.stdout.write(`http://127.0.0.1:${port}\n`);
});
