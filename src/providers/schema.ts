import { Type } from "@sinclair/typebox";
import { type ProviderType, providerAliases, providerTypes } from "../kernel/config.ts";
import { Component, example } from "../kernel/http/component.ts";
import { Closed, Flag, listPartQuery, Name, Nullable, OneOf } from "../kernel/http/request-fields.ts";
import type { IdOf } from "../kernel/ids.ts";

/** Providers a tenant may have at once. */
export const providersPerTenantMax = 20;
/** A base URL has at most this many characters. */
const baseUrlLengthMax = 2_048;
/** An API key has at most this many characters; vendors' tokens stay far below. */
const apiKeyLengthMax = 4_096;

/** The six types and the vendors' own names for four of them. */
const ProviderTypeName = OneOf(...providerTypes, ...(Object.keys(providerAliases) as (keyof typeof providerAliases)[]));

export const ProviderCreate = Component("ProviderCreate", {
  name: example(Name, "Vendor A"),
  providerType: ProviderTypeName,
  baseUrl: Type.Optional(Nullable(Type.String({ maxLength: baseUrlLengthMax }))),
  // A key travels in a header, where other characters would fail at every call.
  apiKey: Type.String({
    example: "sk-0123456789",
    minLength: 1,
    maxLength: apiKeyLengthMax,
    pattern: "^[!-~]([ -~]*[!-~])?$",
    errorMessage: "must be 1 to 4096 printable ASCII characters, without spaces around them",
  }),
});

export const ProviderRename = Component("ProviderUpdate", { name: example(Name, "Vendor A") });

export const ProviderListQuery = Closed(listPartQuery);

export const ProviderDeleteQuery = Closed({
  confirmVersionInvalidation: Type.Optional(Flag),
});

export const ThinkingLevelsQuery = Closed({ model: Type.String({ minLength: 1, maxLength: 512 }) });

/** A provider in a list. */
export interface ProviderItem {
  readonly id: IdOf<"provider">;
  readonly name: string;
  readonly providerType: ProviderType;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** A provider in the response of a single read: never its key. */
export interface Provider extends ProviderItem {
  readonly baseUrl: string | null;
  readonly keyFragment: string;
}
