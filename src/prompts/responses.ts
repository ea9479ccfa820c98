import { Type } from "@sinclair/typebox";
import { Closed } from "../kernel/http/request-fields.ts";
import { attribution, listOf, Text, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** The response schemas of operations on prompts, for the OpenAPI document. */
export const PromptResponse = Closed({
  id: Id("prompt"),
  tenantId: Id("tenant"),
  name: Text,
  template: Text,
  variables: Type.Array(Text),
  ...attribution,
  ...times,
});
export const PromptListResponse = listOf("prompts", PromptResponse);
