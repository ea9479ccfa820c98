import { isUnavailable } from "../kernel/database/failure.ts";
import { retryWhileUnavailable } from "../kernel/database/retry.ts";
import { ApiError } from "../kernel/errors.ts";
import { doneEvent } from "../kernel/http/sse.ts";
import type { IdOf } from "../kernel/ids.ts";
import { turnPatienceMs } from "../kernel/limits.ts";
import { chunksOfEvents } from "../kernel/relay/relay.ts";
import { followLog } from "../sessions/follow/follow.ts";
import type { FollowedLog, Following } from "../sessions/follow/followed-log.ts";
import { awaitEnd, type StreamContext, stopWith, streamEvents } from "../sessions/follow/respond.ts";
import { ItemEvents, type LogChunk, type ResponseEvent } from "./events.ts";
import type { OutputItem } from "./items.ts";
import { readResponse, type StoredResponse } from "./read.ts";
import { isUnderWay, type ResponseResource, responseError, showResponse } from "./resource.ts";

/** A response that was accepted, and its log. */
export interface FollowedResponse {
  readonly tenantId: string;
  readonly id: IdOf<"response">;
  readonly log: FollowedLog;
  /** It goes on only once somebody has decided on what it waits for: nothing of it is followed. */
  readonly waits?: boolean;
}

interface ResponseHeaders {
  readonly request: Request;
}

/** Returns the response once it has ended. Throws 404 when it is erased meanwhile. */
export async function whole(
  streams: StreamContext,
  response: FollowedResponse,
  { request }: ResponseHeaders,
): Promise<Response> {
  if (response.waits === true) return atOnce(streams, response);
  const stop = stopWith(request);
  // It waits as long as a stream would, and is counted as one.
  streams.ctx.slots.leave(request);
  const headers = headersOf(response);
  if ((await awaitEnd(streams, response.log, stop.signal)) === null) throw new ApiError("not_found", { headers });
  return Response.json(showResponse(await readOwn(streams.ctx.sql, response)), { headers });
}

/** Returns the response as it is now. Throws 404. */
export async function atOnce({ ctx }: StreamContext, response: FollowedResponse): Promise<Response> {
  return Response.json(showResponse(await readOwn(ctx.sql, response)), { headers: headersOf(response) });
}

/** Returns the stream of the response's events. */
export function streamed(streams: StreamContext, response: FollowedResponse, { request }: ResponseHeaders): Response {
  const stream = streamEvents(streams, (following, stop) => events(following, response, stop), {
    status: 200,
    headers: headersOf(response),
    request,
  });
  // It is not the AI SDK's stream.
  stream.headers.delete("X-Vercel-AI-UI-Message-Stream");
  return stream;
}

function headersOf({ log }: FollowedResponse): Record<string, string> {
  return { "X-Turn-Id": log.turnId };
}

/** Yields the events of a response as SSE text, numbered, until its last one and the protocol's own end. */
async function* events(following: Following, response: FollowedResponse, stop: AbortSignal): AsyncGenerator<string> {
  let number = 0;
  const format = (event: ResponseEvent) => {
    const { type, ...rest } = event;
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number++, ...rest })}\n\n`;
  };
  const begun = await readOwn(following.sql, response);
  const shown = showResponse(begun);
  const begins = { ...shown, ...unended };
  yield format({ type: "response.created", response: begins }) +
    format({ type: "response.in_progress", response: begins });
  if (response.waits === true) {
    const told = shown.output.flatMap(wholeItem).map(format).join("");
    yield `${told}${format({ type: lastTypeOf(shown), response: shown })}${doneEvent}`;
    return;
  }
  const items = new ItemEvents(response.id, decidedBefore(begun));
  for await (const sse of followLog(following, response.log, 1, stop)) {
    if (sse === doneEvent) break;
    const text = chunksOfEvents(sse)
      .flatMap((chunk) => items.take(chunk as LogChunk))
      .map(format)
      .join("");
    if (text !== "") yield text;
  }
  if (stop.aborted) return;
  const rest = items.end().map(format).join("");
  const last = await lastOf(following, response, begins, items);
  yield `${rest}${format({ type: lastTypeOf(last), response: last })}${doneEvent}`;
}

function wholeItem(item: OutputItem, output_index: number): ResponseEvent[] {
  return [
    { type: "response.output_item.added", output_index, item },
    { type: "response.output_item.done", output_index, item },
  ];
}

/** What the first events say of a response, however far it has come when it is followed again. */
const unended = {
  status: "in_progress",
  completed_at: null,
  error: null,
  incomplete_details: null,
  output: [],
  usage: null,
} as const;

function decidedBefore({ pauses, place }: StoredResponse) {
  return pauses[place - 1]?.approvals ?? [];
}

/** Returns the response as its stream ends with it. */
async function lastOf(
  following: Following,
  response: FollowedResponse,
  begins: ResponseResource,
  { output }: ItemEvents,
): Promise<ResponseResource> {
  try {
    const shown = showResponse(await readOwn(following.sql, response), output);
    if (!isUnderWay(shown.status)) return shown;
    return lost(begins, output, "The live stream was lost. Retrieve the response for its end.");
  } catch (error) {
    if (error instanceof ApiError) return lost(begins, output, "The response was deleted.");
    following.log.warn({ err: error, responseId: response.id }, "the end of a response cannot be read");
    return lost(begins, output, "The service is unavailable. Retrieve the response for its end.");
  }
}

function lost(begins: ResponseResource, output: ItemEvents["output"], message: string): ResponseResource {
  return { ...begins, status: "failed", output, error: responseError({ code: "service_unavailable", message }) };
}

function lastTypeOf({ status }: ResponseResource): string {
  if (status === "completed" || status === "failed") return `response.${status}`;
  // The protocol has no event for a response that was cancelled.
  return "response.incomplete";
}

/** Reads a response that its request has accepted. Throws 404. */
async function readOwn(sql: Following["sql"], { tenantId, id, log }: FollowedResponse): Promise<StoredResponse> {
  const read = () => readResponse(sql, tenantId, id, { isOwn: true });
  const found = await retryWhileUnavailable(read, { limitMs: turnPatienceMs, retryIf: isUnavailable });
  if (found === null) throw new ApiError("not_found", { headers: { "X-Turn-Id": log.turnId } });
  return found;
}
