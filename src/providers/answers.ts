import { Type } from "@sinclair/typebox";
import { providerTypes } from "../config.ts";
import { Id } from "../ids.ts";
import { Closed, OneOf } from "../schema.ts";
import { listOf, Text, TextOrNull, times } from "../shown.ts";

/** What operations on providers answer (document 2, "Provider"), for the OpenAPI document. */
const item = { id: Id("provider"), name: Text, providerType: OneOf(...providerTypes), ...times };
export const Listed = listOf("providers", Closed(item));
export const Shown = Closed({ ...item, baseUrl: TextOrNull, keyFragment: Text });
export const Models = listOf("models", Closed({ id: Text }));
export const ThinkingLevels = Closed({ known: Type.Boolean(), levels: Type.Array(Text) });
