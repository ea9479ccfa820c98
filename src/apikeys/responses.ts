import { Closed } from "../kernel/http/request-fields.ts";
import { listOf, Moment, MomentOrNull, Text } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** The response schemas of operations on API keys, for the OpenAPI document. */
const ApiKeyResponse = Closed({
  id: Id("apiKey"),
  name: Text,
  keyFragment: Text,
  createdAt: Moment,
  expiresAt: MomentOrNull,
});
export const ApiKeyCreatedResponse = Closed({ apiKey: ApiKeyResponse, token: Text });
export const ApiKeyListResponse = listOf("apiKeys", ApiKeyResponse);
