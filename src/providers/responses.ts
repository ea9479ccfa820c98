import { Type } from "@sinclair/typebox";
import { providerTypes } from "../kernel/config.ts";
import { Closed, OneOf } from "../kernel/http/request-fields.ts";
import { listOf, Text, TextOrNull, times } from "../kernel/http/response-fields.ts";
import { Id } from "../kernel/ids.ts";

/** The response schemas of operations on providers, for the OpenAPI document. */
const item = { id: Id("provider"), name: Text, providerType: OneOf(...providerTypes), ...times };
export const ProviderListResponse = listOf("providers", Closed(item));
export const ProviderResponse = Closed({ ...item, baseUrl: TextOrNull, keyFragment: Text });
export const ProviderModelListResponse = listOf("models", Closed({ id: Text }));
export const ThinkingLevelsResponse = Closed({ known: Type.Boolean(), levels: Type.Array(Text) });
