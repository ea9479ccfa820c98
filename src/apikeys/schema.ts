import { Type } from "@sinclair/typebox";
import { type Permission, roles } from "../kernel/auth/roles.ts";
import { Component, example } from "../kernel/http/component.ts";
import { MomentText } from "../kernel/http/date-time.ts";
import { Closed, listPartQuery, Name, Nullable, OneOf } from "../kernel/http/request-fields.ts";
import { Id, type IdOf } from "../kernel/ids.ts";

/** A key is limited to at most this many agents. */
export const agentsPerKeyMax = 100;

export const ApiKeyCreate = Component("ApiKeyCreate", {
  name: example(Name, "Production"),
  expiresAt: Type.Optional(Nullable(MomentText)),
  role: Type.Optional(example(OneOf(...roles), "runner")),
  agentIds: Type.Optional(
    Nullable(Type.Array(Id("agent"), { minItems: 1, maxItems: agentsPerKeyMax, uniqueItems: true })),
  ),
});

export const ApiKeyListQuery = Closed(listPartQuery);

/** An API key as it is shown: never its token or digest. */
export interface ApiKey extends Permission {
  readonly id: IdOf<"apiKey">;
  readonly name: string;
  readonly keyFragment: string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  /** To the minute; null: never yet. */
  readonly lastUsedAt: string | null;
}
