import { type CallToolResult, type StandardSchemaV1, specTypeSchemas } from "@modelcontextprotocol/client";

/** Returns whether a value of a server is the result of a tool. */
export function isToolResult(value: unknown): value is CallToolResult {
  const checked = specTypeSchemas.CallToolResult["~standard"].validate(value);
  return !(checked instanceof Promise) && checked.issues === undefined;
}

/** Takes any result; who asked for it looks at it. */
export const anyResult: StandardSchemaV1<unknown, Record<string, unknown>> = {
  "~standard": { version: 1, vendor: "parley", validate: (value) => ({ value: value as Record<string, unknown> }) },
};

/** The parts of the official MCP client in use. */
export {
  type AuthorizationServerMetadata,
  type CallToolResult,
  Client,
  type ContentBlock,
  checkResourceAllowed,
  computeScopeUnion,
  discoverOAuthServerInfo,
  exchangeAuthorization,
  extractWWWAuthenticateParams,
  fetchToken,
  type InputRequiredResult,
  InsufficientScopeError,
  IssuerMismatchError,
  isInputRequiredResult,
  type JSONRPCMessage,
  type jsonSchemaValidator,
  LATEST_PROTOCOL_VERSION,
  type OAuthClientInformationMixed,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  OAuthError,
  OAuthErrorCode,
  type OAuthMetadata,
  type OAuthTokens,
  ProtocolError,
  RegistrationRejectedError,
  type RequestOptions,
  refreshAuthorization,
  registerClient,
  resourceUrlFromServerUrl,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
  selectClientAuthMethod,
  startAuthorization,
  type Tool,
  validateAuthorizationResponseIssuer,
  validateClientMetadataUrl,
} from "@modelcontextprotocol/client";
