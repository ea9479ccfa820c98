import { type ApiError, type Form, type Issue, messageIn, spell } from "../errors.ts";
import { formOf, rememberCode, requestIdOf, speaksProtocol } from "./request.ts";

/** Returns an error as a response, spelt in the request's form (docs/decisions/errors.md). */
export function envelope(request: Request, error: ApiError): Response {
  const form: Form = formOf(request);
  const { status, code } = spell(error.reason, form);
  rememberCode(request, code);
  // A budget without a period is never whole again by itself, so there is no time to name.
  const lacksTime = status === 429 && error.headers["Retry-After"] === undefined && error.reason !== "budget_exceeded";
  const retryAfter = lacksTime ? { "Retry-After": "1" } : {};
  const body = {
    error: {
      code,
      message: messageIn(form, error),
      ...(speaksProtocol(request) ? protocolFields(status, error) : {}),
      ...(error.details === undefined ? {} : { details: error.details }),
      requestId: requestIdOf(request),
    },
  };
  return Response.json(body, { status, headers: { ...retryAfter, ...error.headers } });
}

/** What clients of the Open Responses protocol read beside code and message: the kind of the error, and the field that it is about. */
function protocolFields(status: number, { details }: ApiError): { type: string; param: string | null } {
  const [issue] = (details?.issues ?? []) as readonly Issue[];
  return { type: typeOf(status), param: issue === undefined ? null : paramOf(issue.path) };
}

function typeOf(status: number): string {
  const known = types[status];
  if (known !== undefined) return known;
  return status < 500 ? "invalid_request" : "server_error";
}

const types: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found",
  429: "too_many_requests",
  502: "model_error",
};

/** Returns a JSON pointer as these clients know it: `/input/0/content` as `input[0].content`. */
function paramOf(pointer: string): string {
  const names = pointer.split("/").filter((name) => name !== "");
  return names.map((name, index) => (/^\d+$/.test(name) ? `[${name}]` : index === 0 ? name : `.${name}`)).join("");
}
