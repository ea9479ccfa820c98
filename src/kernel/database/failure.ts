import postgres from "postgres";
import { ApiError } from "../errors.ts";
import { unavailableRetryAfterSeconds } from "../limits.ts";
import { DeadlineError } from "./deadline.ts";

/** A write on a server that takes none: its primary is another one since a fail-over. */
const readOnlyState = "25006";
/** SQLSTATEs after which a retry may succeed: deadlock, serialisation, server restarting, too many connections, a server that has become a standby. */
const transientStates = new Set(["40001", "40P01", "57P01", "57P02", "57P03", "53300", readOnlyState]);
/** SQLSTATEs after which the caller gets a 503: the above, cancelled statement, lock and idle time-outs, no disk or memory. */
const unavailableStates = new Set([...transientStates, "57014", "55P03", "25P03", "25P04", "53100", "53200", "53400"]);
/** Error codes of the driver and of the system for a connection that is not there. */
const connectionCodes = new Set([
  "CONNECT_TIMEOUT",
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  "EPIPE",
  "ENOENT",
  "ConnectionRefused",
  "ConnectionClosed",
  // What writing to a socket that has just closed is called.
  "ERR_SOCKET_CLOSED",
  "ERR_STREAM_DESTROYED",
  "ERR_STREAM_WRITE_AFTER_END",
]);

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** Returns whether a server has refused a write because it takes none. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === readOnlyState;
}

/** Returns whether a server's certificate is refused. */
export function isCertificateRefused(error: unknown): boolean {
  return /CERT|SIGNATURE|ALTNAME/.test(codeOf(error));
}

/** Returns whether a database error is temporary, so that a retry within seconds may succeed. */
export function isTransient(error: unknown): boolean {
  const code = codeOf(error);
  return transientStates.has(code) || connectionCodes.has(code);
}

/**
 * Returns whether an error means that Postgres is not available now; the caller gets a 503 then
 * (docs/decisions/errors.md).
 */
export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error);
  return (
    error instanceof DeadlineError ||
    unavailableStates.has(code) ||
    connectionCodes.has(code) ||
    code.startsWith("08") ||
    isCertificateRefused(error)
  );
}

/** Returns whether a statement failed because it divided by zero: that is how one fails that finds nothing where something must be. */
export function isDivisionByZero(error: unknown): boolean {
  return codeOf(error) === "22012";
}

/** Returns the 503 for a service that cannot work now. */
export function unavailable(): ApiError {
  return new ApiError("service_unavailable", { headers: { "Retry-After": String(unavailableRetryAfterSeconds) } });
}

/** Returns the constraint or unique index that a write violated, or null. Slices map its name to a cause. */
export function violatedConstraint(error: unknown): string | null {
  if (!(error instanceof postgres.PostgresError) || !error.code.startsWith("23")) return null;
  return error.constraint_name ?? null;
}
