import type { Principal } from "../../kernel/auth/authenticator.ts";
import type { Ctx } from "../../kernel/context.ts";
import type { NewTurn } from "./insert.ts";

/** A turn that will run: the rows and the job are committed. */
export interface AcceptedTurn {
  readonly turnId: string;
  readonly sessionId: string | null;
  readonly assistantMessageId: string;
  /** The claim whose log is to be followed: 0, unless an Idempotency-Key joined a turn that is under way. */
  readonly attempt: number;
}

/** Returns what a turn's row says of it once it is written. */
export function acceptedOf(turn: Pick<NewTurn, "turnId" | "sessionId" | "assistantMessageId">): AcceptedTurn {
  const { turnId, sessionId, assistantMessageId } = turn;
  return { turnId, sessionId, assistantMessageId, attempt: 0 };
}

/** The line that leads from a request's id to its turn; the worker's lines carry both ids too. */
export function logAccepted(
  { log }: Ctx,
  {
    requestId,
    principal,
    agentId,
  }: { readonly requestId: string; readonly principal: Principal; readonly agentId: string },
  accepted: AcceptedTurn,
  what: string,
): AcceptedTurn {
  const { turnId, sessionId } = accepted;
  log.info({ requestId, turnId, sessionId, tenantId: principal.tenant.id, agentId }, what);
  return accepted;
}
