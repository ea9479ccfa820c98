/** Errors in the shape that OpenAI's protocol gives them. */
import type { Json } from "./conversation.ts";

/** The message of every failure that a script asks for. */
export const scriptedFailureMessage = "The simulated model fails, as its script says.";

/** Returns the error body of an HTTP status. */
export function errorBody(status: number, message: string, code: string | null = null): { readonly error: Json } {
  const type = status === 429 ? "rate_limit_error" : status >= 500 ? "server_error" : "invalid_request_error";
  return { error: { message, type, param: null, code } };
}

/** Returns a response that refuses a request. */
export function refusal(
  status: number,
  message: string,
  code: string | null = null,
  headers: Record<string, string> = {},
): Response {
  return Response.json(errorBody(status, message, code), { status, headers });
}
