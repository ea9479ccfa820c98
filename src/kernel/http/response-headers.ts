import { rateLimitHeaders } from "../errors.ts";

/** The headers of responses that a caller may need, beside those that all responses have. */
const headers = {
  Location: "The path of what was made; its last part is its id.",
  "X-Turn-Id": "The turn's id.",
  "Retry-After": "After how many seconds to ask again.",
  [rateLimitHeaders.limit]: "The limit that was reached.",
  [rateLimitHeaders.remaining]: "What is left of it.",
  [rateLimitHeaders.reset]: "After how many seconds something is left again.",
} as const;

export type ResponseHeader = keyof typeof headers;

/** Returns headers as the OpenAPI document has them. */
export function describeHeaders(names: readonly ResponseHeader[]): Record<string, object> {
  return Object.fromEntries(
    names.map((name) => [
      name,
      { description: headers[name], schema: { type: name.startsWith("R") ? "integer" : "string" } },
    ]),
  );
}
