import {
  LogLevel,
  WebAPIHTTPError,
  WebAPIPlatformError,
  WebAPIRateLimitedError,
  WebAPIRequestError,
  WebClient,
} from "@slack/web-api";
import { type Endpoint, PlatformError } from "../platform.ts";
import { limited, networkFailure, platformFetch } from "../transport.ts";

/** A logger that writes nothing, because the client's log lines would hold tokens and messages. */
const silent = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  setLevel: () => {},
  getLevel: () => LogLevel.ERROR,
  setName: () => {},
};

/** Runs one call of Slack's Web API, once. Rejects with `PlatformError`. */
export type CallSlack = <T>(call: (client: WebClient) => Promise<T>) => Promise<T>;

/** Returns what calls Slack's Web API with a bot's token. */
export function slackCaller(endpoint: Endpoint, botToken: string): CallSlack {
  const client = new WebClient(botToken, {
    slackApiUrl: `${endpoint.url.replace(/\/+$/, "")}/`,
    allowAbsoluteUrls: false,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    logger: silent,
    fetch: platformFetch(endpoint.signal),
  });
  return async (call) => {
    try {
      return await call(client);
    } catch (error) {
      throw slackFailure(error);
    }
  };
}

/** Slack's codes for "try again later", for "it may have been done", and for formatting that it refuses. */
const limitCodes = new Set(["ratelimited", "rate_limited"]);
const unsureCodes = new Set(["internal_error", "fatal_error", "request_timeout", "service_unavailable"]);
const formatCodes = new Set(["invalid_blocks", "invalid_blocks_format"]);

function slackFailure(error: unknown): PlatformError {
  if (error instanceof WebAPIRateLimitedError) return limited(error.retryAfter);
  if (error instanceof WebAPIRequestError) return networkFailure(error.original);
  if (error instanceof WebAPIHTTPError) return new PlatformError("refused", `http_${error.statusCode}`);
  if (!(error instanceof WebAPIPlatformError)) return networkFailure(error);
  const code = error.data.error;
  // A text that is no code comes from a response that was not Slack's.
  if (typeof code !== "string" || !/^[a-z0-9_]{1,64}$/.test(code))
    return new PlatformError("unsure", "unreadable_answer");
  if (limitCodes.has(code)) return limited(error.data.response_metadata?.retryAfter ?? null);
  if (unsureCodes.has(code)) return new PlatformError("unsure", code);
  return new PlatformError(formatCodes.has(code) ? "unformatted" : "refused", code);
}
