import type { Wire } from "../drive.ts";

/** Another system that runs agents, as this script installs and asks it. */
export interface Peer {
  readonly name: string;
  /** What npm installs, each with its version. */
  readonly packages: readonly string[];
  /** How it is asked, where not like the bare endpoint. */
  readonly wire?: Wire;
  /** How it is built and started, where it is no server script of one file. */
  readonly app?: PeerApp;
}

/** A peer that is a folder beside this file, run by a program of its own. */
export interface PeerApp {
  /** What Node is given to build it, and to start it once built. */
  readonly build: readonly string[];
  readonly start: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The folder that it stores in, and not in Postgres. It is empty at each start. */
  readonly store: string;
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

/** eve's routes: a session is made with its first message, then followed until it waits for the next one. */
const eveWire: Wire = {
  ask: async (url, text) => {
    const made = await post(`${url}eve/v1/session`, { message: text });
    if (!made.ok) return made;
    const { sessionId } = (await made.json()) as { sessionId: string };
    const followed = await fetch(`${url}eve/v1/session/${sessionId}/stream`);
    return new Response(followed.body?.pipeThrough(until(/"type":"session\.(waiting|failed|completed)"/)), {
      status: followed.status,
    });
  },
  firstText: /"messageDelta":"chunk-/,
  end: /"type":"turn\.completed".*"type":"session\.waiting"/s,
};
/**
 * eve on files, its default for who hosts it: this version wants a store of protocol 6 to 8, and ends at once on the
 * newest Postgres store that npm could install (`@workflow/world-postgres` 5.0.0-beta.27), which speaks 5.
 */
const eveApp: PeerApp = {
  build: ["node_modules/eve/bin/eve.js", "build"],
  start: ["node_modules/eve/bin/eve.js", "start", "--host", "127.0.0.1"],
  env: { EVE_TELEMETRY_DISABLED: "1" },
  store: ".eve/.workflow-data",
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
  {
    name: "eve",
    packages: ["eve@0.80.1", "just-bash@3.1.0", "zod@4.6.7", ...vercel, node],
    wire: eveWire,
    app: eveApp,
  },
];

/** What `until` waits for may come in two parts; it is shorter than this. */
const tailUnits = 100;

/** Lets a stream through to the part in which this is said, and leaves it there: an open session's never ends. */
function until(said: RegExp): TransformStream<Uint8Array, Uint8Array> {
  let tail = "";
  const decoder = new TextDecoder();
  return new TransformStream({
    transform: (part, controller) => {
      controller.enqueue(part);
      tail = tail.slice(-tailUnits) + decoder.decode(part, { stream: true });
      if (said.test(tail)) controller.terminate();
    },
  });
}

function post(url: string, body: object): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}
