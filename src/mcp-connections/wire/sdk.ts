import type { StandardSchemaV1 } from "@modelcontextprotocol/client";
import { version } from "../../kernel/version.ts";

/** The client's name and version that servers are told. */
export const clientInfo = { name: "parley", version };

/** Takes any result; who asked for it looks at it. */
export const anyResult: StandardSchemaV1<unknown, Record<string, unknown>> = {
  "~standard": { version: 1, vendor: "parley", validate: (value) => ({ value: value as Record<string, unknown> }) },
};

/** The parts of the official MCP client in use. */
export {
  Client,
  checkResourceAllowed,
  computeScopeUnion,
  discoverOAuthServerInfo,
  exchangeAuthorization,
  extractWWWAuthenticateParams,
  fetchToken,
  InsufficientScopeError,
  IssuerMismatchError,
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
  ProtocolErrorCode,
  RegistrationRejectedError,
  type RequestOptions,
  refreshAuthorization,
  registerClient,
  resourceUrlFromServerUrl,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SERVER_INFO_META_KEY,
  StreamableHTTPClientTransport,
  SUPPORTED_PROTOCOL_VERSIONS,
  selectClientAuthMethod,
  startAuthorization,
  type Tool,
  validateAuthorizationResponseIssuer,
  validateClientMetadataUrl,
} from "@modelcontextprotocol/client";
