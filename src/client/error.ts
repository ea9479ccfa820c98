import type { ErrorResponse } from "./generated/schemas.ts";

/** What a call throws when the service responds with an error. */
export class ParleyError extends Error {
  override readonly name = "ParleyError";
  /** What went wrong, for programs; the operation in `/openapi.json` lists its codes. */
  readonly code: string;
  readonly status: number;
  /** The response's X-Request-Id, which the service's log names too. */
  readonly requestId: string | null;
  /** More of it, such as `issues`: the fields that broke a rule. */
  readonly details: ErrorResponse["error"]["details"];
  /** After how many seconds to try again, where the service says so. */
  readonly retryAfterSeconds: number | null;

  constructor(response: Response, { code, message, details, requestId }: ErrorResponse["error"]) {
    super(message);
    this.code = code;
    this.status = response.status;
    this.requestId = requestId || response.headers.get("x-request-id");
    this.details = details;
    const after = Number(response.headers.get("retry-after") ?? Number.NaN);
    this.retryAfterSeconds = Number.isFinite(after) ? after : null;
  }
}

/** The error that a response holds, also where something between here and the service made it. */
export async function errorOf(response: Response): Promise<ParleyError> {
  const text = await response.text();
  const error = readError(text);
  return new ParleyError(
    response,
    error ?? { code: "unexpected_response", message: text.slice(0, 200), requestId: "" },
  );
}

function readError(text: string): ErrorResponse["error"] | null {
  try {
    const { error } = JSON.parse(text) as Partial<ErrorResponse>;
    return typeof error?.code === "string" ? error : null;
  } catch {
    return null;
  }
}
