import { RefusedAddressError } from "../../kernel/outbound/fetch.ts";
import { SealError } from "../../kernel/seal.ts";
import { CallRefused } from "./refusal.ts";
import {
  InsufficientScopeError,
  IssuerMismatchError,
  OAuthError,
  OAuthErrorCode,
  ProtocolError,
  RegistrationRejectedError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
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
  /** The scopes that the server asked for, of a token that has too few; null otherwise. */
  readonly missingScope: string | null;

  constructor(code: McpFailureCode, message: string, missingScope: string | null = null) {
    super(message);
    this.code = code;
    this.missingScope = missingScope;
  }
}

/** An answer of an MCP server that came and cannot be read. */
export class UnreadableAnswer extends McpFailure {
  /** What is wrong with it, and where. */
  readonly fault: string;

  constructor(method: string, fault: string) {
    super("mcp_connection_discovery_failed", `The MCP server's answer to \`${method}\` cannot be read: ${fault}.`);
    this.fault = fault;
  }
}

/** Of the scopes that a server asks for, this many characters are kept. */
const missingScopeLengthMax = 1_024;

/** HTTP statuses that say "not now". */
const passingStatuses = new Set([429, 502, 503, 504]);
/** Codes of an authorization server that say "not now". */
const passingCodes = new Set<string>([OAuthErrorCode.TemporarilyUnavailable, OAuthErrorCode.TooManyRequests]);

/** Returns the failure of a server that cannot be reached or does not respond in time. */
export const unreachable = (message: string) => new McpFailure("mcp_connection_unreachable", message);
/** Returns the failure of a server that does not speak the protocol. */
export const notMcp = (message: string) => new McpFailure("mcp_connection_discovery_failed", message);
/** Returns the failure of credentials that are refused or missing. */
export const authenticationFailed = (message: string) =>
  new McpFailure("mcp_connection_authentication_failed", message);

/** Returns the failure of a token that has too few scopes: somebody has to sign in again and grant them. */
function scopeMissing(scope: string): McpFailure {
  const message = "The server asks for more rights than its token has; sign in again to grant them.";
  return new McpFailure("mcp_connection_authentication_failed", message, cleanScope(scope));
}

/** Returns the scopes of a challenge, as the grammar of OAuth has them and not without end. */
function cleanScope(scope: string): string | null {
  const names = scope.split(" ").filter((name) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(name));
  return names.join(" ").slice(0, missingScopeLengthMax) || null;
}

/** Returns the failure that an error of a request to an MCP server means (docs/decisions/mcp.md). */
export function failureOf(error: unknown): McpFailure {
  if (error instanceof McpFailure) return error;
  if (error instanceof SealError) return unreachable("The connection's stored credentials cannot be opened right now.");
  // An internal name must not be told apart from one that does not exist.
  if (error instanceof RefusedAddressError && error.isOfName) return unreachable("The server cannot be reached.");
  if (error instanceof RefusedAddressError)
    return new McpFailure("mcp_connection_invalid", "The server's address, or one it points to, may not be called.");
  if (error instanceof InsufficientScopeError) return scopeMissing(error.requiredScope ?? "");
  if (error instanceof IssuerMismatchError)
    return notMcp("The authorization server's metadata name another issuer than the address they were found under.");
  if (error instanceof RegistrationRejectedError) return failureOfRegistration(error);
  if (error instanceof SdkHttpError || error instanceof CallRefused)
    return failureOfStatus(error.status, "The MCP server");
  if (error instanceof OAuthError) return failureOfGrant(error);
  if (error instanceof ProtocolError) return failureOfProtocol(error);
  if (error instanceof SdkError) return failureOfConnection(error);
  if (isTimeout(error)) return unreachable("The server did not answer in time.");
  return notMcp("The server's answers are not those of an MCP server.");
}

/** Returns the failure that a status of the MCP server or of its authorization server means. */
export function failureOfStatus(status: number, who: string): McpFailure {
  if (status === 401 || status === 403) return authenticationFailed(`${who} refused the credentials (HTTP ${status}).`);
  if (passingStatuses.has(status)) return unreachable(`${who} cannot serve right now (HTTP ${status}).`);
  if (status >= 300) return notMcp(`${who} answered HTTP ${status}.`);
  return notMcp("The address answers, but not as an MCP server.");
}

function failureOfRegistration({ status, body }: RegistrationRejectedError): McpFailure {
  // The body is the one that `readingFetch` makes: an error's code, or nothing.
  const { error } = JSON.parse(body ?? "{}") as { readonly error?: string };
  if (status !== 400 || error === undefined) return failureOfStatus(status, "The authorization server");
  return notMcp(`The authorization server refused to register this service (${shownCode(error)}).`);
}

function failureOfGrant(error: OAuthError): McpFailure {
  if (passingCodes.has(error.code))
    return unreachable(`The authorization server cannot serve right now (${error.code}).`);
  if (error.code !== OAuthErrorCode.ServerError)
    return authenticationFailed(`The authorization server refused the credentials (${shownCode(error.code)}).`);
  // The SDK throws this when the body is no OAuth error; its text begins with the status.
  const status = /^HTTP (\d{3}):/.exec(error.message)?.[1];
  if (status !== undefined) return failureOfStatus(Number(status), "The authorization server");
  return unreachable("The authorization server failed (server_error).");
}

function failureOfProtocol(error: ProtocolError): McpFailure {
  return notMcp(`The MCP server answered with the error ${error.code}.`);
}

function failureOfConnection(error: SdkError): McpFailure {
  if (error.code === SdkErrorCode.RequestTimeout) return unreachable("The MCP server did not answer in time.");
  if (error.code === SdkErrorCode.ConnectionClosed) return unreachable("The MCP server closed the connection.");
  if (error.cause !== undefined && error.cause !== error) return failureOf(error.cause);
  return notMcp("The server's answers are not those of an MCP server.");
}

/** A code is repeated only when it has the form of one; other text from the server is not. */
function shownCode(code: string): string {
  return /^[a-z_]{1,40}$/.test(code) ? code : "unknown";
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && (error.name === "TimeoutError" || error.name === "AbortError");
}
