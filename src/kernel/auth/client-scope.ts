import { ApiError } from "../errors.ts";
import type { IdOf } from "../ids.ts";

/** What a client token may be made with or without (docs/decisions/client-tokens.md). */
export const clientAbilities = ["approvals", "clientTools", "forks"] as const;
/** Deciding approvals, answering calls of client tools, copying sessions. */
export type ClientAbility = (typeof clientAbilities)[number];

/** What a client token is good for (docs/decisions/client-tokens.md). */
export interface ClientScope {
  readonly agentId: IdOf<"agent">;
  readonly userId: string;
  /** Null: every session of the user with the agent. */
  readonly sessionId: IdOf<"session"> | null;
  readonly can: readonly ClientAbility[];
  /** The pages that may use it: origins as a browser sends them. */
  readonly origins: readonly string[];
}

/** Throws 403 for a client token that was made without an ability. Null: another credential, which has them all. */
export function requireAbility(client: ClientScope | null, ability: ClientAbility): void {
  if (client === null || client.can.includes(ability)) return;
  throw new ApiError("client_token_refused", {
    message: `This client token was made without \`${ability}\` in \`can\`.`,
  });
}
