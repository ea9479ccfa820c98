import { Type } from "@sinclair/typebox";
import { Id } from "../ids.ts";
import { Closed } from "../schema.ts";
import { attribution, listOf, Text, times } from "../shown.ts";

/** What operations on prompts answer (document 1, "Prompt"), for the OpenAPI document. */
export const Shown = Closed({
  id: Id("prompt"),
  tenantId: Id("tenant"),
  name: Text,
  template: Text,
  variables: Type.Array(Text),
  ...attribution,
  ...times,
});
export const Listed = listOf("prompts", Shown);
