import { Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { attribution, listPartOf, Text, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** What operations on prompts respond with, for the OpenAPI document. */
export const PromptResponse = Component("Prompt", {
  id: Id("prompt"),
  tenantId: Id("tenant"),
  name: example(Text, "Greeting"),
  template: example(Text, "Greet {{name}} in one sentence."),
  variables: example(Type.Array(Text), ["name"]),
  ...attribution,
  ...times,
});
export const PromptListResponse = listPartOf("PromptList", "prompts", PromptResponse);
