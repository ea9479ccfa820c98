import { readBounded } from "../kernel/bounded-read.ts";
import { ApiError } from "../kernel/errors.ts";
import { foreignJsonDepthMax, jsonExcess } from "../kernel/json-bounds.ts";
import { directFetch, type Fetch, isUnsent } from "../kernel/outbound/fetch.ts";
import { withBody } from "../kernel/outbound/watched-body.ts";
import { PlatformError } from "./platform.ts";

/** The wait when a platform says "too many requests" but not how long to wait. */
const retryAfterMsDefault = 5_000;
/** What a platform says to a call has at most so many bytes; real ones have some kilobytes. */
const answerBytesMax = 1024 * 1024;

/**
 * Returns the fetch for the platforms' clients. Every request has a connection of
 * its own: a runtime that finds a kept connection closed sends the request again by
 * itself, and a message would be posted twice. Rejects with `PlatformError` for the
 * statuses 429 and 5xx.
 */
export function platformFetch(signal: AbortSignal): Fetch {
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("connection", "close");
    const signals = [signal, ...(init?.signal == null ? [] : [init.signal])];
    const response = await directFetch(input, {
      ...init,
      headers,
      redirect: "error",
      keepalive: false,
      signal: AbortSignal.any(signals),
    });
    const answer = await boundedAnswer(response);
    if (answer.status === 429) throw limited(await retryAfterOf(answer));
    if (answer.status >= 500) throw new PlatformError("unsure", `http_${answer.status}`);
    return answer;
  };
}

/** Returns a response with its body read, which is bounded before the platform's client parses it. What is beyond the bounds may have been done. */
async function boundedAnswer(response: Response): Promise<Response> {
  const unreadable = new PlatformError("unsure", "unreadable_answer");
  const bytes = await readBounded(response.body, answerBytesMax).catch((error: unknown) => {
    throw error instanceof ApiError ? unreadable : error;
  });
  if ((await jsonExcess(bytes, { depthMax: foreignJsonDepthMax })) !== null) throw unreadable;
  const body = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
  return withBody(response, bytes.byteLength === 0 ? null : body);
}

/** Returns the error for "too many requests"; `seconds` is the platform's wait, null when it did not say. */
export function limited(seconds: number | null): PlatformError {
  const waitMs = seconds === null ? retryAfterMsDefault : Math.max(1, seconds) * 1000;
  return new PlatformError("limited", "rate_limited", waitMs);
}

/** The seconds to wait: Slack says them in the header, Telegram in the body. */
async function retryAfterOf(response: Response): Promise<number | null> {
  const header = response.headers.get("retry-after")?.trim() ?? "";
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const body = (await response.json().catch(() => null)) as { parameters?: { retry_after?: unknown } } | null;
  const seconds = body?.parameters?.retry_after;
  return typeof seconds === "number" && Number.isFinite(seconds) ? seconds : null;
}

/** Returns what an error of the network means. Only one that certainly came before the sending counts as unsent. */
export function networkFailure(error: unknown): PlatformError {
  if (error instanceof PlatformError) return error;
  const chain = [error, error instanceof Error ? error.cause : null];
  for (const link of chain) {
    if (!(link instanceof Error)) continue;
    if (isUnsent(link)) return new PlatformError("unreachable", "unreachable");
    if (link.name === "TimeoutError" || link.name === "AbortError") return new PlatformError("unsure", "timed_out");
    if (link instanceof SyntaxError) return new PlatformError("unsure", "unreadable_answer");
  }
  return new PlatformError("unsure", "connection_lost");
}
