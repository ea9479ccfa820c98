import { RefusedAddressError } from "../kernel/outbound/fetch.ts";
import { SealError } from "../kernel/seal.ts";
import {
  ErrorCode,
  McpError,
  OAuthError,
  ServerError,
  StreamableHTTPError,
  TemporarilyUnavailableError,
  TooManyRequestsError,
} from "./sdk.ts";

/** Why an MCP server cannot be used; each is also the cause of an API error. */
export type McpFailureCode =
  | "mcp_connection_invalid"
  | "mcp_connection_authentication_failed"
  | "mcp_connection_unreachable"
  | "mcp_connection_discovery_failed";

/** An MCP server, or its authorization server, cannot be used. The message holds no text that the other side wrote. */
export class McpFailure extends Error {
  override readonly name = "McpFailure";
  readonly code: McpFailureCode;

  constructor(code: McpFailureCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** HTTP statuses that say "not now". */
const passingStatuses = new Set([429, 502, 503, 504]);

/** Returns the failure of a server that cannot be reached or does not respond in time. */
export const unreachable = (message: string) => new McpFailure("mcp_connection_unreachable", message);
/** Returns the failure of a server that does not speak the protocol. */
export const notMcp = (message: string) => new McpFailure("mcp_connection_discovery_failed", message);
/** Returns the failure of credentials that are refused or missing. */
export const authenticationFailed = (message: string) =>
  new McpFailure("mcp_connection_authentication_failed", message);

/** Returns the failure that an error of a request to an MCP server means (docs/decisions.md, "MCP"). */
export function failureOf(error: unknown): McpFailure {
  if (error instanceof McpFailure) return error;
  if (error instanceof SealError) return unreachable("The connection's stored credentials cannot be opened right now.");
  // An internal name must not be told apart from one that does not exist.
  if (error instanceof RefusedAddressError && error.isOfName) return unreachable("The server cannot be reached.");
  if (error instanceof RefusedAddressError)
    return new McpFailure("mcp_connection_invalid", "The server's address, or one it points to, may not be called.");
  if (error instanceof StreamableHTTPError) return failureOfStatus(error.code ?? 0, "The MCP server");
  if (error instanceof OAuthError) return failureOfGrant(error);
  if (error instanceof McpError) return failureOfProtocol(error);
  if (isTimeout(error)) return unreachable("The server did not answer in time.");
  return notMcp("The server's answers are not those of an MCP server.");
}

function failureOfStatus(status: number, who: string): McpFailure {
  if (status === 401 || status === 403) return authenticationFailed(`${who} refused the credentials (HTTP ${status}).`);
  if (passingStatuses.has(status)) return unreachable(`${who} cannot serve right now (HTTP ${status}).`);
  if (status >= 300) return notMcp(`${who} answered HTTP ${status}.`);
  return notMcp("The address answers, but not as an MCP server.");
}

function failureOfGrant(error: OAuthError): McpFailure {
  if (error instanceof TemporarilyUnavailableError || error instanceof TooManyRequestsError)
    return unreachable(`The authorization server cannot serve right now (${error.errorCode}).`);
  if (!(error instanceof ServerError))
    return authenticationFailed(`The authorization server refused the credentials (${knownCode(error)}).`);
  // The SDK throws this when the body is no OAuth error; its text begins with the status.
  const status = /^HTTP (\d{3}):/.exec(error.message)?.[1];
  if (status !== undefined) return failureOfStatus(Number(status), "The authorization server");
  return unreachable("The authorization server failed (server_error).");
}

function failureOfProtocol(error: McpError): McpFailure {
  if (error.code === ErrorCode.RequestTimeout) return unreachable("The MCP server did not answer in time.");
  if (error.code === ErrorCode.ConnectionClosed) return unreachable("The MCP server closed the connection.");
  return notMcp(`The MCP server answered with the error ${error.code}.`);
}

/** A code is repeated only when it has the form of one; other text from the server is not. */
function knownCode(error: OAuthError): string {
  return /^[a-z_]{1,40}$/.test(error.errorCode) ? error.errorCode : "unknown";
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && (error.name === "TimeoutError" || error.name === "AbortError");
}
