import type { Ctx } from "../../kernel/context.ts";
import type { McpConnectionRow } from "../store.ts";
import { openCredentials, openTokens } from "./credentials.ts";
import { isUsable, renewTokens } from "./tokens.ts";

/** How a session authenticates. */
export interface Authorization {
  /**
   * Returns the token for the `Authorization` header; null sends none. `rejected` is
   * a token that the server has just refused: it is renewed if it can be, else
   * returned again. Throws `McpFailure`.
   */
  token(rejected: string | null): Promise<string | null>;
}

/** Returns an authorization with one token, or none, that cannot be renewed. */
export function fixedAuthorization(token: string | null): Authorization {
  return { token: () => Promise.resolve(token) };
}

/** Returns the authorization of a stored connection; OAuth tokens are renewed when they expire or are refused. */
export function authorizationOf(ctx: Ctx, row: McpConnectionRow): Authorization {
  if (row.authType === "none") return fixedAuthorization(null);
  if (row.authType === "bearer")
    return fixedAuthorization(openCredentials(ctx.sealer, row.id, row.sealedCredentials).bearerToken);
  let held = openTokens(ctx.sealer, row.id, row.sealedTokens);
  return {
    async token(rejected) {
      if (held === null || !isUsable(held, rejected)) held = await renewTokens(ctx, row, rejected);
      return held.accessToken;
    },
  };
}
