import { Closed } from "../kernel/http/request-fields.ts";
import { listOf, Moment, MomentOrNull, Text } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** What operations on API keys answer (document 2, "API key"), for the OpenAPI document. */
const Shown = Closed({
  id: Id("apiKey"),
  name: Text,
  keyFragment: Text,
  createdAt: Moment,
  expiresAt: MomentOrNull,
});
export const Made = Closed({ apiKey: Shown, token: Text });
export const Listed = listOf("apiKeys", Shown);
