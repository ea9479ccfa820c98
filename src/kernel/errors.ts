import { type ErrorRow, errorTable } from "./error-table.ts";

/** Everything that can go wrong, by name. */
export type ErrorCause = keyof typeof errorTable;

/** Which form of the interface a request speaks. */
export type Form = "a" | "b";

/** One broken rule: `path` is a JSON pointer into the body, or the query field's name. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

interface ApiErrorOptions {
  readonly message?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error that is meant for the caller. Slices throw it; only `app.ts` renders it. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly reason: ErrorCause;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(reason: ErrorCause, options: ApiErrorOptions = {}) {
    super(options.message ?? errorTable[reason].message);
    this.reason = reason;
    this.details = options.details;
    this.headers = options.headers ?? {};
  }
}

/** The headers of a 429 that say which limit was reached. */
export const rateLimitHeaders = {
  limit: "RateLimit-Limit",
  remaining: "RateLimit-Remaining",
  reset: "RateLimit-Reset",
} as const;

/** Returns the headers of a 429: the limit that was reached, that nothing of it is left, and after how many seconds something is again. */
export function limitHeaders(limit: number, resetSeconds: number): Readonly<Record<string, string>> {
  const seconds = String(resetSeconds);
  const { limit: limitName, remaining, reset } = rateLimitHeaders;
  return { "Retry-After": seconds, [limitName]: String(limit), [remaining]: "0", [reset]: seconds };
}

/** A broken field rule, 400 `validation_failed` (A: `invalid_request`), naming the field. */
export function invalid(path: string, message: string): ApiError {
  return invalidAll([{ path, message }]);
}

/** A field's name in a response has at most this many characters, and its pointer this many: the name may be the caller's. */
const shownNameLengthMax = 100;
const shownPathLengthMax = 1_000;

function shortened(path: string): string {
  const names = path.split("/").map((name) => cut(name, shownNameLengthMax));
  return cut(names.join("/"), shownPathLengthMax);
}

function cut(text: string, lengthMax: number): string {
  // Half a surrogate pair at the cut goes too.
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** Several broken field rules in one response. */
export function invalidAll(broken: readonly Issue[]): ApiError {
  const issues = broken.map(({ path, message }) => ({ path: shortened(path), message }));
  const first = issues[0];
  const message = first === undefined ? undefined : `${first.path || "The body"}: ${first.message}`;
  return new ApiError("validation_failed", { details: { issues }, ...(message === undefined ? {} : { message }) });
}

/** A broken field rule under another cause, its details kept; any other error as it is. */
export function invalidAs(reason: ErrorCause, error: unknown): unknown {
  if (!(error instanceof ApiError) || error.reason !== "validation_failed") return error;
  const { message, details, headers } = error;
  return new ApiError(reason, { message, headers, ...(details === undefined ? {} : { details }) });
}

/** Status and code of a cause as the given form spells them. */
export function spell(reason: ErrorCause, form: Form): { status: number; code: string } {
  const row: ErrorRow = errorTable[reason];
  const [status, code] = form === "a" ? (row.a ?? row.b) : row.b;
  return { status, code };
}

/** The default message of a cause. */
export function defaultMessage(reason: ErrorCause): string {
  return errorTable[reason].message;
}

/** An error's message in the words of the given form: form A calls a workspace a sandbox. */
export function messageIn(form: Form, { reason, message }: ApiError): string {
  const row: ErrorRow = errorTable[reason];
  if (message !== "" && message !== row.message) return message;
  return (form === "a" ? row.messageInA : undefined) ?? row.message;
}

/** All causes, for the tests that hold the table against the contract. */
export const errorCauses = Object.keys(errorTable) as readonly ErrorCause[];
