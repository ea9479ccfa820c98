import { Closed } from "../kernel/http/request-fields.ts";
import { listOf, Moment, MomentOrNull, Text } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** What operations on API keys answer (document 2, "API key"), for the OpenAPI document. */
const ApiKeyResponse = Closed({
  id: Id("apiKey"),
  name: Text,
  keyFragment: Text,
  createdAt: Moment,
  expiresAt: MomentOrNull,
});
export const ApiKeyCreatedResponse = Closed({ apiKey: ApiKeyResponse, token: Text });
export const ApiKeyListResponse = listOf("apiKeys", ApiKeyResponse);
