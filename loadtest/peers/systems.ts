import type { Wire } from "../drive.ts";

/** Another system that runs agents, as this script installs and asks it. */
export interface Peer {
  readonly name: string;
  /** What npm installs, each with its version. */
  readonly packages: readonly string[];
  /** How it is asked, where not like the bare endpoint. */
  readonly wire?: Wire;
}

/** The peers want a newer Node than a machine may have; each is run by this one. */
const node = "node@24.21.0";
const vercel = ["ai@7.0.173", "@ai-sdk/openai-compatible@3.0.92"];

/** LangGraph's routes: a thread is made, then run. */
const langGraphWire: Wire = {
  ask: async (url, text) => {
    const { thread_id } = (await (await post(`${url}/threads`, {})).json()) as { thread_id: string };
    return post(`${url}/threads/${thread_id}/runs/stream`, {
      assistant_id: "load",
      input: { messages: [{ role: "user", content: text }] },
      stream_mode: ["messages-tuple", "values"],
    });
  },
  firstText: /"content":"chunk-/,
  end: /event: values\r?\ndata: [^\n]*chunk-1 chunk-2 [^\n]*\s*$/,
};

/** All peers, by the names that `--only` takes. */
export const peers: readonly Peer[] = [
  { name: "dbos", packages: ["@dbos-inc/dbos-sdk@4.27.6", "@dbos-inc/vercel-ai@0.1.5", ...vercel, node] },
  {
    name: "mastra",
    packages: [
      "@mastra/core@1.71.0",
      "@mastra/pg@1.27.1",
      "@mastra/memory@1.31.0",
      "@mastra/ai-sdk@1.10.4",
      ...vercel,
      node,
    ],
  },
  {
    name: "langgraph",
    packages: [
      "@langchain/langgraph-api@1.5.1",
      "@langchain/langgraph@1.7.3",
      "@langchain/langgraph-checkpoint-postgres@1.0.5",
      "@langchain/openai@1.6.0",
      "@langchain/core@1.4.0",
      node,
    ],
    wire: langGraphWire,
  },
];

function post(url: string, body: object): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}
