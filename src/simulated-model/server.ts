/**
 * The simulated model: an HTTP server that speaks OpenAI's protocol, so that turns run
 * with no key and no network. It gives the same answer to the same request; a script in
 * the user's message (`grammar.ts`, `script.ts`) or plain words (`ask.ts`) make it call
 * tools, fail, hang or be slow.
 */
import { type HttpServer, listen } from "../kernel/runtime.ts";
import { chatBody, chatFrames, readChatRequest } from "./chat-completions.ts";
import { type Conversation, InvalidRequest, type Json, objectOf } from "./conversation.ts";
import { refusal, scriptedFailureMessage } from "./errors.ts";
import { ScriptError } from "./grammar.ts";
import { type RecordedRequest, Recorder, type Recording } from "./record.ts";
import { type ModelReply, replyTo } from "./reply.ts";
import { readResponsesRequest, responsesBody, responsesFrames } from "./responses.ts";
import { type Frames, sendStream, sendWhole } from "./send.ts";

export type { RecordedRequest } from "./record.ts";

/** The ids that `GET /v1/models` lists; a request may name any other too. */
const simulatedModelIds = ["simulated/model", "simulated/model-mini"] as const;

/** A running simulated model. */
export interface SimulatedModel {
  /** The base URL for a client, ending in `/v1`. */
  readonly url: string;
  readonly port: number;
  /** The last requests, oldest first, at most 1,000. */
  requests(): ReadonlyArray<RecordedRequest>;
  clear(): void;
  /** Closes the open connections and stops. */
  stop(): Promise<void>;
}

/** How to start a simulated model. */
export interface SimulatedModelOptions {
  /** Default `127.0.0.1`. */
  readonly hostname?: string;
  /** Default 0: the system chooses. */
  readonly port?: number;
  /** When set, a request under `/v1` without this bearer key is 401. */
  readonly apiKey?: string;
  /**
   * The pause between chunks where no script sets one, in milliseconds; default 30, so
   * that a person can see single chunks arrive.
   */
  readonly chunkDelayMs?: number;
}

/** Starts a simulated model. Throws an error with code `EADDRINUSE` when the port is taken. */
export function startSimulatedModel(options: SimulatedModelOptions = {}): SimulatedModel {
  const hostname = options.hostname ?? "127.0.0.1";
  const model = new Model(options.apiKey ?? null, options.chunkDelayMs ?? 30);
  const server: HttpServer = listen({ hostname, port: options.port ?? 0, fetch: (request) => model.handle(request) });
  const reachable = hostname === "0.0.0.0" ? "127.0.0.1" : hostname;
  return {
    url: `http://${reachable}:${server.port}/v1`,
    port: server.port,
    requests: () => model.recorder.list(),
    clear: () => model.recorder.clear(),
    stop: () => server.stop(true),
  };
}

/** What one of the two generating endpoints needs to read and print. */
interface Wire {
  read(body: Json): Conversation;
  frames(reply: ModelReply, model: string, includeUsage: boolean): Frames;
  whole(reply: ModelReply, model: string): Json;
}

const wires = new Map<string, Wire>([
  ["/v1/chat/completions", { read: readChatRequest, frames: chatFrames, whole: chatBody }],
  ["/v1/responses", { read: readResponsesRequest, frames: responsesFrames, whole: responsesBody }],
]);

class Model {
  readonly recorder = new Recorder();
  readonly #apiKey: string | null;
  readonly #chunkDelayMs: number;

  constructor(apiKey: string | null, chunkDelayMs: number) {
    this.#apiKey = apiKey;
    this.#chunkDelayMs = chunkDelayMs;
  }

  handle(request: Request): Response | Promise<Response> {
    const path = new URL(request.url).pathname;
    if (path === "/requests") return this.#control(request.method);
    if (this.#apiKey !== null && request.headers.get("authorization") !== `Bearer ${this.#apiKey}`)
      return refusal(401, "The API key is missing or wrong.", "invalid_api_key");
    if (path === "/v1/models" && request.method === "GET") return models();
    const wire = wires.get(path);
    if (wire === undefined || request.method !== "POST")
      return refusal(404, `There is no ${request.method} ${path} here.`);
    return this.#generate(request, path, wire);
  }

  /** The records for tests in another process. */
  #control(method: string): Response {
    if (method === "GET") return Response.json(this.recorder.list());
    if (method !== "DELETE") return refusal(405, "GET reads the requests, DELETE forgets them.");
    this.recorder.clear();
    return new Response(null, { status: 204 });
  }

  async #generate(request: Request, path: string, wire: Wire): Promise<Response> {
    const raw = await request.text();
    const body = parsed(raw);
    const recording = this.recorder.add(request, path, body, raw.length);
    try {
      const fields = objectOf(body, "The request body");
      const conversation = wire.read(fields);
      const reply = replyTo(conversation, this.#chunkDelayMs);
      return await play(wire, fields, conversation.model, reply, request.signal, recording);
    } catch (error) {
      recording.finish(false);
      if (error instanceof InvalidRequest || error instanceof ScriptError) return refusal(400, error.message);
      throw error;
    }
  }
}

/** Returns the response of a reply. One that fails does so by its HTTP status, unless its script sends chunks first. */
function play(wire: Wire, body: Json, model: string, reply: ModelReply, gone: AbortSignal, recording: Recording) {
  const finished = () => recording.finish(false);
  const streams = body.stream === true;
  if (reply.status !== null && !(streams && reply.ending.kind === "fail")) {
    finished();
    const retry = reply.retryAfterSeconds;
    return refusal(reply.status, scriptedFailureMessage, null, retry === null ? {} : { "retry-after": `${retry}` });
  }
  if (gone.aborted) recording.finish(true);
  gone.addEventListener("abort", () => recording.finish(true), { once: true });
  if (!streams) return sendWhole(reply, wire.whole(reply, model), gone, finished);
  const asked = body.stream_options as Json | null | undefined;
  return sendStream(reply, wire.frames(reply, model, asked?.include_usage === true), gone, finished);
}

function models(): Response {
  const data = simulatedModelIds.map((id) => ({ id, object: "model", created: 0, owned_by: "simulated" }));
  return Response.json({ object: "list", data });
}

function parsed(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return null;
  }
}
