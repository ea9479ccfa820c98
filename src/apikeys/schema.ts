import { Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { MomentText } from "../kernel/http/date-time.ts";
import { Closed, listPartQuery, Name, Nullable } from "../kernel/http/request-fields.ts";
import type { IdOf } from "../kernel/ids.ts";

/** API keys a tenant may have at once. */
export const apiKeysPerTenantMax = 5;

export const ApiKeyCreate = Component("ApiKeyCreate", {
  name: example(Name, "Production"),
  expiresAt: Type.Optional(Nullable(MomentText)),
});

export const ApiKeyListQuery = Closed(listPartQuery);

/** An API key as it is shown: never its token or digest. */
export interface ApiKey {
  readonly id: IdOf<"apiKey">;
  readonly name: string;
  readonly keyFragment: string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
}
