import { Buffer } from "node:buffer";
import { setImmediate } from "node:timers/promises";
import type { ForeignJson } from "../../kernel/json-bounds.ts";
import { jsonValuesMax } from "../../kernel/limits.ts";
import { withBody } from "../../kernel/outbound/watched-body.ts";
import { refusalBytesMax, streamEventsMax } from "../limits.ts";
import { McpFailure, UnreadableAnswer } from "../wire/failure.ts";
import { asFields, type JsonFields, Unreadable } from "../wire/fields.ts";
import { readLenientJson } from "../wire/lenient-json.ts";
import { CallRefused, isOfCall, isOfWay, refusalWords } from "../wire/refusal.ts";
import { type StreamEvent, StreamReader } from "./event-stream.ts";
import { type AskedRequest, faultMessage, type ReadMessage, readMessages } from "./messages.ts";

/** A request whose response has not come yet, or whose streams are still open. */
export interface OpenRequest extends AskedRequest {
  /** Closes its streams. */
  readonly stop: AbortController;
  /** The id of the last event on its streams, by which the SDK resumes it; null: no event had one. */
  lastEventId: string | null;
}

/** Takes the result of a request, which goes past the client library. */
export type TakeResult = (request: AskedRequest, result: Result) => void;

/** The result of a request as the server sent it. */
export interface Result {
  readonly value: unknown;
  /** The number of bytes of JSON that it came in. */
  readonly bytes: number;
}

/** What says that nothing more comes for a request. */
export const connectionClosed = "The connection closed before the answer.";
/** The reading of a stream gives way to other work after this long. */
const sliceMs = 5;
/** At most this many bytes of a stream are read between two looks at that. */
const sliceBytes = 16 * 1024;
/** Requests that the SDK makes to find out what it talks to; it waits for their answers without a look at what else comes. */
const handshakes = new Set(["initialize", "server/discover"]);

/**
 * Returns the response to a request as the client library is handed it (`messages.ts`): JSON of
 * whatever media type, or a stream of events. A stream that ends without the answer gets an error
 * in its place; one whose events have ids can be resumed, and stays as it is. `forget` is called
 * when nothing more can come for the request. Throws `UnreadableAnswer`, and what reading throws.
 */
export async function readableResponse(
  response: Response,
  request: OpenRequest,
  take: TakeResult,
  forget: () => void,
): Promise<Response> {
  if (!response.ok) return refusalOf(response, request, forget);
  const isStream = response.headers.get("content-type")?.toLowerCase().startsWith("text/event-stream") ?? false;
  try {
    if (!isStream || response.body === null) return jsonResponse(response, await readWhole(response, request, take));
    if (handshakes.has(request.method)) return jsonResponse(response, await firstAnswer(response.body, request, take));
  } catch (error) {
    // What does not answer this as the newest revision has it may speak an older one, which is asked next.
    if (request.method !== "server/discover" || !(error instanceof UnreadableAnswer)) throw error;
    return jsonResponse(response, [noSuchMethod(request)]);
  } finally {
    if (!isStream || response.body === null) forget();
  }
  return withBody(response, answerStream(response.body, request, take, forget));
}

/** Returns the body of a resumed stream; it may be resumed again. */
export function resumedStream(
  body: ReadableStream<Uint8Array>,
  request: OpenRequest,
  take: TakeResult,
): ReadableStream<Uint8Array> {
  return answerStream(body, request, take, () => {});
}

function noSuchMethod({ id }: AskedRequest): object {
  return { jsonrpc: "2.0", id, error: { code: -32_601, message: "No such method." } };
}

function jsonResponse(response: Response, messages: readonly object[], status = 200): Response {
  const headers = new Headers(response.headers);
  headers.set("content-type", "application/json");
  for (const name of ["content-encoding", "content-length"]) headers.delete(name);
  const [only] = messages;
  return new Response(JSON.stringify(messages.length === 1 ? only : messages), { status, headers });
}

/**
 * Returns a refusal with no more of its body than is looked at: an error of JSON-RPC in it is the answer.
 * Throws `CallRefused` for one of a call that is not about the way to the server.
 */
async function refusalOf(response: Response, request: OpenRequest, forget: () => void): Promise<Response> {
  const { status } = response;
  const bytes = await readBody(response, refusalBytesMax).catch(() => Buffer.from(""));
  forget();
  const read = await readLenientJson(bytes);
  const passed = withBody(response, null);
  if (status < 400 || status === 401 || status === 403) return passed;
  const answer = read.outcome === "read" ? errorIn(read.value, request) : null;
  // A proxy knows no ids, so an error with the right one is about the call, whatever its status.
  const isOfTransport = [404, 405, 429, 503].includes(status);
  if (answer === null || isOfTransport) {
    if (!isOfCall(request.method) || (answer === null && isOfWay(status))) return passed;
    throw new CallRefused(status, refusalWords(read, bytes));
  }
  // A session that is not known is often told so, too, with a code of the server's own.
  const { code } = answer.message.error as { readonly code: number };
  // Of the newest revision, which has no sessions, the library takes the error from the body itself.
  if (status === 400 && !callCodes.has(code)) return jsonResponse(response, [answer.message], status);
  return jsonResponse(response, [answer.message]);
}

/** Returns the error of JSON-RPC that a refusal says the request has; null when it says none. */
function errorIn(value: unknown, request: OpenRequest): ReadMessage | null {
  const id = asFields(value)?.id;
  if (id === undefined || id === null) return null;
  try {
    return readMessages(value, request, false).find(({ message }) => "error" in message) ?? null;
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}

/** Codes of errors that are about one request and nothing around it. */
const callCodes = new Set([-32_601, -32_602, -32_603]);

/** Reads a response that is no stream to its end. Throws `UnreadableAnswer`. */
async function readWhole(response: Response, request: OpenRequest, take: TakeResult): Promise<object[]> {
  const bytes = await readBody(response, Number.POSITIVE_INFINITY).catch((error: unknown) => {
    throw error instanceof McpFailure && error.code === "mcp_connection_discovery_failed"
      ? new UnreadableAnswer(request.method, "it is longer than is read")
      : error;
  });
  if (bytes.byteLength === 0) throw new UnreadableAnswer(request.method, `it is empty (HTTP ${response.status})`);
  const read = await readLenientJson(bytes);
  const messages = messagesOf(read, request, take, bytes.byteLength, true);
  if (messages.some(({ isAnswer }) => isAnswer)) return handed(messages).map(({ message }) => message);
  const stray = strayIn(messages);
  if (stray !== null) return [stray];
  if (beginsAsStream(bytes))
    return firstAnswer(new Response(new Uint8Array(bytes)).body as ReadableStream<Uint8Array>, request, take);
  const isPage = response.headers.get("content-type")?.toLowerCase().startsWith("text/html") ?? false;
  const fault = read.outcome === "read" ? "it is no response of JSON-RPC" : "it is no JSON";
  throw new UnreadableAnswer(request.method, isPage ? `${fault} but a web page` : fault);
}

/** What of messages the library is handed: an error under another id only in place of an answer that does not come. */
const handed = (messages: readonly ReadMessage[]) => messages.filter(({ isStray }) => isStray !== true);

function strayIn(messages: readonly ReadMessage[]): JsonFields | null {
  return messages.find(({ isStray }) => isStray === true)?.message ?? null;
}

/** Some servers send events with the media type of JSON. */
function beginsAsStream(bytes: Buffer): boolean {
  return /^\ufeff?(:|data|event|id|retry)/.test(bytes.toString("utf8", 0, 16));
}

async function readBody(response: Response, bytesMax: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  if (response.body !== null)
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
      bytes += piece.byteLength;
      if (bytes > bytesMax) break;
      pieces.push(piece);
    }
  return Buffer.concat(pieces);
}

/** Returns the messages in JSON that was read, none in what is no JSON. Throws `UnreadableAnswer` for an answer that cannot be read. */
function messagesOf(
  read: ForeignJson,
  request: OpenRequest,
  take: TakeResult,
  bytes: number,
  isAlone: boolean,
): ReadMessage[] {
  if (read.outcome === "too_many_values")
    throw new UnreadableAnswer(request.method, `it has more than ${jsonValuesMax} values`);
  if (read.outcome === "too_deep") throw new UnreadableAnswer(request.method, "it nests too deep");
  if (read.outcome !== "read") return [];
  try {
    const messages = readMessages(read.value, request, isAlone);
    // The answer to a handshake is for the library alone.
    if (!handshakes.has(request.method))
      for (const { message, result } of messages) if ("result" in message) take(request, { value: result, bytes });
    return messages;
  } catch (error) {
    throw error instanceof Unreadable ? new UnreadableAnswer(request.method, error.message) : error;
  }
}

/** Reads a stream until the answer has come. Throws `UnreadableAnswer`. */
async function firstAnswer(
  body: ReadableStream<Uint8Array>,
  request: OpenRequest,
  take: TakeResult,
): Promise<object[]> {
  let stray: JsonFields | null = null;
  for await (const { messages } of readEvents(body, request, take)) {
    const answer = messages.find(({ isAnswer }) => isAnswer);
    if (answer !== undefined) return [answer.message];
    stray ??= strayIn(messages);
  }
  return [stray ?? faultMessage(request, faultOfEnd(request))];
}

/** Why a stream that ended in order has no answer: a call was made for all that is known, like one whose response is empty; other requests are made again. */
function faultOfEnd({ method }: AskedRequest): string {
  return method === "tools/call" || method === "tasks/result"
    ? "its stream ended without a response"
    : connectionClosed;
}

/** Returns a stream of what the library is handed: each event, with no more of its data than is used. */
function answerStream(
  body: ReadableStream<Uint8Array>,
  request: OpenRequest,
  take: TakeResult,
  forget: () => void,
): ReadableStream<Uint8Array> {
  const pieces = answerPieces(body, request, take, forget);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        forget();
        await pieces.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

async function* answerPieces(
  body: ReadableStream<Uint8Array>,
  request: OpenRequest,
  take: TakeResult,
  forget: () => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  let isAnswered = false;
  let stray: JsonFields | null = null;
  let fault = faultOfEnd(request);
  try {
    for await (const { event, messages } of readEvents(body, request, take)) {
      isAnswered ||= messages.some(({ isAnswer }) => isAnswer);
      stray ??= strayIn(messages);
      yield eventText(event, handed(messages));
    }
  } catch (error) {
    const isFault = error instanceof UnreadableAnswer;
    if (!isFault && request.lastEventId !== null) throw error;
    fault = isFault ? error.fault : connectionClosed;
    // A stream whose answer is there and cannot be read is not resumed.
    if (isFault) request.lastEventId = null;
  }
  if (request.lastEventId !== null) return;
  forget();
  if (!isAnswered) yield new TextEncoder().encode(`data: ${JSON.stringify(stray ?? faultMessage(request, fault))}\n\n`);
}

function eventText({ id, retryMs }: StreamEvent, messages: readonly ReadMessage[]): Uint8Array {
  const about = `${id === null ? "" : `id: ${id}\n`}${retryMs === null ? "" : `retry: ${retryMs}\n`}`;
  const events = messages.map(({ message }) => `data: ${JSON.stringify(message)}\n\n`);
  return new TextEncoder().encode(`${about}${events.length === 0 ? "data: \n\n" : events.join("")}`);
}

interface ReadEvent {
  readonly event: StreamEvent;
  readonly messages: readonly ReadMessage[];
}

/** Reads the events of a stream and gives way to other work between them. Events of which nothing is used are passed over. Throws `UnreadableAnswer`. */
async function* readEvents(
  body: ReadableStream<Uint8Array>,
  request: OpenRequest,
  take: TakeResult,
): AsyncGenerator<ReadEvent, void, undefined> {
  const events = new StreamReader();
  const pace = new NoticePace();
  let count = 0;
  let sliceEnds = performance.now() + sliceMs;
  const giveWay = async () => {
    if (performance.now() < sliceEnds) return;
    await setImmediate();
    sliceEnds = performance.now() + sliceMs;
  };
  for await (const piece of body as unknown as AsyncIterable<Uint8Array>)
    for (let at = 0; at < piece.byteLength; at += sliceBytes) {
      await giveWay();
      for (const event of events.read(piece.subarray(at, at + sliceBytes))) {
        count += 1;
        if (count > streamEventsMax)
          throw new UnreadableAnswer(request.method, `it has more than ${streamEventsMax} events`);
        if (event.id !== null) request.lastEventId = event.id;
        const read = messagesIn(event, request, take);
        const all = read instanceof Promise ? await read : read;
        const messages = all.filter((message) => pace.lets(message));
        if (event.id !== null || event.retryMs !== null || messages.length > 0) yield { event, messages };
        await giveWay();
      }
    }
}

function messagesIn(
  event: StreamEvent,
  request: OpenRequest,
  take: TakeResult,
): ReadMessage[] | Promise<ReadMessage[]> {
  const { data } = event;
  if (data === null) throw new UnreadableAnswer(request.method, "it is longer than is read");
  if (data.byteLength === 0) return [];
  if (data.byteLength > plainBytesMax)
    return readLenientJson(data).then((read) => messagesOf(read, request, take, data.byteLength, false));
  return messagesOf(plainJson(data), request, take, data.byteLength, false);
}

/** JSON of this many bytes is within every bound of values and of depth. */
const plainBytesMax = 256;

/** Reads such JSON at once: to wait for each of a million pings would cost more than to read them. What has no part of a message is none. */
function plainJson(data: Buffer): ForeignJson {
  if (!messageParts.some((part) => data.includes(part))) return { outcome: "malformed" };
  try {
    return { outcome: "read", value: JSON.parse(data.toString()) };
  } catch {
    return { outcome: "malformed" };
  }
}

const messageParts = ['"method"', '"result"', '"error"'].map((part) => Buffer.from(part));

/** This many messages beside the answer pass as they come; then one in this many milliseconds, which is enough for a sign of life. */
const noticesMax = 1_000;
const noticePauseMs = 100;

/** Lets a flood of messages beside the answer through in part: the client library takes 8 kB of memory for each. */
class NoticePace {
  #count = 0;
  #passedAt = 0;

  lets({ isAnswer }: ReadMessage): boolean {
    if (isAnswer) return true;
    this.#count += 1;
    const now = performance.now();
    if (this.#count > noticesMax && now < this.#passedAt + noticePauseMs) return false;
    this.#passedAt = now;
    return true;
  }
}
