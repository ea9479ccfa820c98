import { Type } from "@sinclair/typebox";
import { type ClientAbility, clientAbilities } from "../kernel/auth/client-scope.ts";
import { Component, example } from "../kernel/http/component.ts";
import { Characters, OneOf } from "../kernel/http/request-fields.ts";
import { Id } from "../kernel/ids.ts";
import { userIdLengthMax } from "../kernel/limits.ts";

/** How long a client token may be valid, in seconds. */
export const tokenSecondsMin = 60;
export const tokenSecondsMax = 86_400;
/** How long it is where nothing is said. */
export const tokenSecondsDefault = 3_600;
/** What a token may do where nothing is said: a fork costs its tenant space. */
export const abilitiesDefault: readonly ClientAbility[] = ["approvals", "clientTools"];
/** One of the abilities of a client token. */
export const ClientAbilityField = OneOf(...clientAbilities);
/** Valid client tokens of a tenant. They are counted with each new one, which takes 3 to 7 ms for this many. */
export const clientTokensPerTenantMax = 20_000;
/** Origins that one token is for. */
export const originsPerTokenMax = 20;
/** Origins of all client tokens of a tenant; each agent's count apart. */
export const originsPerTenantMax = 10_000;
/** An origin has at most this many characters. */
const originCharactersMax = 300;

export const ClientTokenCreate = Component("ClientTokenCreate", {
  agentId: Id("agent"),
  // Not empty: that would be everything that belongs to no user.
  userId: example(Characters({ min: 1, max: userIdLengthMax }), "user-1"),
  sessionId: Type.Optional(Id("session")),
  expiresInSeconds: Type.Optional(
    Type.Integer({ minimum: tokenSecondsMin, maximum: tokenSecondsMax, default: tokenSecondsDefault }),
  ),
  can: Type.Optional(
    example(Type.Array(ClientAbilityField, { maxItems: clientAbilities.length, default: [...abilitiesDefault] }), [
      "approvals",
      "clientTools",
    ]),
  ),
  origins: Type.Optional(
    example(Type.Array(Characters({ min: 1, max: originCharactersMax }), { maxItems: originsPerTokenMax }), [
      "https://app.example.com",
    ]),
  ),
});
