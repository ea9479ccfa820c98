import type { IdOf } from "../ids.ts";

/** What a client token is good for (docs/decisions.md, "Client tokens"). */
export interface ClientScope {
  readonly agentId: IdOf<"agent">;
  readonly userId: string;
  /** Null: every session of the user with the agent. */
  readonly sessionId: IdOf<"session"> | null;
  /** The pages that may use it: origins as a browser sends them. */
  readonly origins: readonly string[];
}

/** Every client token begins with this; what follows has the length of any token. */
export const clientTokenPrefix = "parleyc_";
