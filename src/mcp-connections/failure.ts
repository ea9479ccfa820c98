import { RefusedAddressError } from "../kernel/outbound/fetch.ts";
import {
  ErrorCode,
  McpError,
  OAuthError,
  ServerError,
  StreamableHTTPError,
  TemporarilyUnavailableError,
  TooManyRequestsError,
} from "./sdk.ts";

/** Why an MCP server cannot be used; also the causes of the errors that say so. */
export type McpFailureCode =
  | "mcp_connection_invalid"
  | "mcp_connection_authentication_failed"
  | "mcp_connection_unreachable"
  | "mcp_connection_discovery_failed";

/** An MCP server, or the authorization server before it, cannot be used. The message is ours: it holds nothing that the other side wrote. */
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

export const unreachable = (message: string) => new McpFailure("mcp_connection_unreachable", message);
export const notMcp = (message: string) => new McpFailure("mcp_connection_discovery_failed", message);
export const notAllowedIn = (message: string) => new McpFailure("mcp_connection_authentication_failed", message);

/** What any error on the way to an MCP server means (`decisions.md`, "MCP"). */
export function failureOf(error: unknown): McpFailure {
  if (error instanceof McpFailure) return error;
  if (error instanceof RefusedAddressError)
    return new McpFailure("mcp_connection_invalid", "The server's address, or one it points to, may not be called.");
  if (error instanceof StreamableHTTPError) return failureOfStatus(error.code ?? 0, "The MCP server");
  if (error instanceof OAuthError) return failureOfGrant(error);
  if (error instanceof McpError) return failureOfProtocol(error);
  if (isTimeout(error)) return unreachable("The server did not answer in time.");
  return notMcp("The server's answers are not those of an MCP server.");
}

function failureOfStatus(status: number, who: string): McpFailure {
  if (status === 401 || status === 403) return notAllowedIn(`${who} refused the credentials (HTTP ${status}).`);
  if (passingStatuses.has(status)) return unreachable(`${who} cannot serve right now (HTTP ${status}).`);
  if (status >= 300) return notMcp(`${who} answered HTTP ${status}.`);
  return notMcp("The address answers, but not as an MCP server.");
}

function failureOfGrant(error: OAuthError): McpFailure {
  if (error instanceof TemporarilyUnavailableError || error instanceof TooManyRequestsError)
    return unreachable(`The authorization server cannot serve right now (${error.errorCode}).`);
  if (!(error instanceof ServerError))
    return notAllowedIn(`The authorization server refused the credentials (${knownCode(error)}).`);
  // The SDK's way to say that the answer was no OAuth error; its text begins with the status.
  const status = /^HTTP (\d{3}):/.exec(error.message)?.[1];
  if (status !== undefined) return failureOfStatus(Number(status), "The authorization server");
  return unreachable("The authorization server failed (server_error).");
}

function failureOfProtocol(error: McpError): McpFailure {
  if (error.code === ErrorCode.RequestTimeout) return unreachable("The MCP server did not answer in time.");
  if (error.code === ErrorCode.ConnectionClosed) return unreachable("The MCP server closed the connection.");
  return notMcp(`The MCP server answered with the error ${error.code}.`);
}

/** The SDK knows the codes of OAuth; anything else that a server sends is not repeated. */
function knownCode(error: OAuthError): string {
  return /^[a-z_]{1,40}$/.test(error.errorCode) ? error.errorCode : "unknown";
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && (error.name === "TimeoutError" || error.name === "AbortError");
}
