/** What the body of a response that is no success holds. */
interface ErrorFields {
  readonly code: string;
  readonly message: string;
  /** `issues`: the fields that broke a rule, each by its JSON pointer. */
  readonly details?: { readonly issues?: ReadonlyArray<{ readonly path: string; readonly message: string }> };
  readonly requestId: string;
}

/** What a call throws when the service responds with an error. */
export class ParleyError extends Error {
  override readonly name = "ParleyError";
  /** What went wrong, for programs; the operation in `/openapi.json` lists its codes. */
  readonly code: string;
  readonly status: number;
  /** The response's X-Request-Id, which the service's log names too. */
  readonly requestId: string | null;
  /** The turn that failed, where the call waited for one. */
  readonly turnId: string | null;
  /** More of it, such as `issues`: the fields that broke a rule. */
  readonly details: ErrorFields["details"] | undefined;
  /** After how many seconds to try again, where the service says so. */
  readonly retryAfterSeconds: number | null;

  constructor(response: Response, { code, message, details, requestId }: ErrorFields) {
    super(message);
    this.code = code;
    this.status = response.status;
    this.turnId = response.headers.get("x-turn-id");
    this.requestId = requestId || response.headers.get("x-request-id");
    this.details = details;
    const after = Number(response.headers.get("retry-after") ?? Number.NaN);
    this.retryAfterSeconds = Number.isFinite(after) ? after : null;
  }
}

/** The error that a response holds, also where something between here and the service made it. */
export async function readParleyError(response: Response): Promise<ParleyError> {
  const text = await response.text();
  const error = readFields(text);
  return new ParleyError(
    response,
    error ?? { code: "unexpected_response", message: text.slice(0, 200), requestId: "" },
  );
}

function readFields(text: string): ErrorFields | null {
  try {
    const { error } = JSON.parse(text) as { error?: ErrorFields };
    return typeof error?.code === "string" ? error : null;
  } catch {
    return null;
  }
}
