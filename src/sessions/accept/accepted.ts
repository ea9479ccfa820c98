import type { Principal } from "../../kernel/auth/authenticator.ts";
import type { Ctx } from "../../kernel/context.ts";
import type { IdOf } from "../../kernel/ids.ts";
import type { NewTurn } from "./turn-row.ts";

/** A turn that will run: the rows and the job are committed. */
export interface AcceptedTurn {
  readonly turnId: IdOf<"turn">;
  readonly sessionId: IdOf<"session"> | null;
  readonly assistantMessageId: IdOf<"message">;
  /**
   * The attempt whose turn log is to be followed; 0 for a new turn. An Idempotency-Key can
   * join a turn that has run already.
   */
  readonly attempt: number;
}

/** Returns the turn that is accepted once this row is written. */
export function acceptedOf(turn: Pick<NewTurn, "turnId" | "sessionId" | "assistantMessageId">): AcceptedTurn {
  const { turnId, sessionId, assistantMessageId } = turn;
  return { turnId, sessionId, assistantMessageId, attempt: 0 };
}

/**
 * Logs the line that connects a request's id with its turn's; the worker's lines have both
 * ids too. Returns `accepted`.
 */
export function logAccepted(
  { log }: Ctx,
  {
    requestId,
    principal,
    agentId,
  }: { readonly requestId: string; readonly principal: Pick<Principal, "tenant">; readonly agentId: string },
  accepted: AcceptedTurn,
  what: string,
): AcceptedTurn {
  const { turnId, sessionId } = accepted;
  log.info({ requestId, turnId, sessionId, tenantId: principal.tenant.id, agentId }, what);
  return accepted;
}
