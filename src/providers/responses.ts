import { Type } from "@sinclair/typebox";
import { providerTypes } from "../kernel/config.ts";
import { Component, example } from "../kernel/http/component.ts";
import { OneOf } from "../kernel/http/request-fields.ts";
import { listOf, listPartOf, Text, TextOrNull, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** What operations on providers respond with, for the OpenAPI document. */
const item = { id: Id("provider"), name: example(Text, "Vendor A"), providerType: OneOf(...providerTypes), ...times };
export const ProviderListResponse = listPartOf("ProviderList", "providers", Component("ProviderSummary", item));
export const ProviderResponse = Component("Provider", {
  ...item,
  baseUrl: example(TextOrNull, null),
  keyFragment: example(Text, "3f9a"),
});
export const ProviderModelListResponse = listOf(
  "ProviderModelList",
  "models",
  Component("ProviderModel", { id: example(Text, "gpt-5-mini") }),
);
export const ThinkingLevelsResponse = Component("ThinkingLevels", {
  known: Type.Boolean(),
  levels: example(Type.Array(Text), ["low", "medium", "high"]),
});
