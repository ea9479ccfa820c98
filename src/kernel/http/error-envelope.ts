import { type ApiError, type Form, messageIn, spell } from "../errors.ts";
import { formOf, rememberCode, requestIdOf } from "./request.ts";

/** Returns an error as a response, spelt in the request's form (docs/decisions.md, "Errors"). */
export function envelope(request: Request, error: ApiError): Response {
  const form: Form = formOf(request);
  const { status, code } = spell(error.reason, form);
  rememberCode(request, code);
  const retryAfter = status === 429 && error.headers["Retry-After"] === undefined ? { "Retry-After": "1" } : {};
  const body = {
    error: {
      code,
      message: messageIn(form, error),
      ...(error.details === undefined ? {} : { details: error.details }),
      requestId: requestIdOf(request),
    },
  };
  return Response.json(body, { status, headers: { ...retryAfter, ...error.headers } });
}
