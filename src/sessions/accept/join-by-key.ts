import type { Principal } from "../../kernel/auth/authenticator.ts";
import { isProven } from "../../kernel/auth/proof.ts";
import type { Ctx } from "../../kernel/context.ts";
import { ApiError } from "../../kernel/errors.ts";
import { dropOldKey, type IdempotencyKey, keyOfDeleted, recallKey } from "../../kernel/http/idempotency.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { logAttemptOf, logStates } from "../state/turn-log.ts";
import { type AcceptedTurn, logAccepted } from "./accepted.ts";

/**
 * Returns the turn of a repeated Idempotency-Key; null when the key is new. Throws 422
 * `idempotency_key_reused` when the key was used for something else, or when the turn's
 * session or agent is deleted: nothing tells its answer any more, and it does not run again.
 */
export async function joinByKey(ctx: Ctx, key: IdempotencyKey): Promise<AcceptedTurn | null> {
  const { sql } = ctx;
  const known = await recallKey(sql, ctx.sealer, key);
  if (known === null) return null;
  if (known.turnId === null) throw new ApiError("idempotency_key_reused");
  const [log] = await logStates(sql, [known.turnId]);
  // What a failed first turn leaves of a session that nobody ever saw is marked as deleted too, and is no client's deletion.
  const [row] = await sql<{ sessionId: IdOf<"session"> | null; deleted: boolean }[]>`
    select /* turn.is_there */ t.session_id, not exists (select 1 from agents a where a.id = t.agent_id)
      or t.session_id is not null and (s.id is null or s.deleted_at is not null and s.visible) as deleted
    from turns t left join sessions s on s.id = t.session_id where t.id = ${known.turnId}`;
  if (log === undefined || row === undefined || row.deleted) throw keyOfDeleted();
  return {
    turnId: log.turnId,
    sessionId: row.sessionId,
    assistantMessageId: log.assistantMessageId,
    attempt: logAttemptOf(log),
  };
}

/**
 * Returns the turn that `accept` accepts, or the one that its Idempotency-Key joins: what writes a turn stores its key too, and is
 * refused where the key is known. Throws as `accept` and `joinByKey`.
 */
export async function acceptOnce(
  ctx: Ctx,
  request: {
    readonly principal: Principal;
    readonly key: IdempotencyKey | null;
    readonly agentId: string;
    readonly requestId: string;
  },
  accept: () => Promise<AcceptedTurn>,
): Promise<AcceptedTurn> {
  const { principal, key } = request;
  try {
    return await accept();
  } catch (error) {
    // A repeat joins its turn, whatever refuses a new one by now: at the latest the key itself.
    if (key === null || !isProven(principal) || !(error instanceof ApiError)) throw error;
    if (error.reason === "idempotency_key_reused" && (await dropOldKey(ctx.sql, key))) return accept();
    const first = await joinByKey(ctx, key);
    if (first === null) throw error;
    return logAccepted(ctx, request, first, "a repeated request joined its turn");
  }
}
