import { Type } from "@sinclair/typebox";
import { Closed, Name, Nullable } from "../schema.ts";

/** API keys a tenant may have at once. */
export const apiKeysPerTenantMax = 5;

/** RFC 3339 with an offset (document 2, "API key"). */
export const ExpiresAt = Type.String({
  maxLength: 64,
  pattern: "^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?([Zz]|[+-]\\d{2}:\\d{2})$",
  errorMessage: "must be an RFC 3339 date-time with an offset",
});

export const ApiKeyCreate = Closed({ name: Name, expiresAt: Type.Optional(Nullable(ExpiresAt)) });

/** An API key as it is shown: never its token or digest. */
export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly keyFragment: string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
}
