import type { Ctx } from "../../kernel/context.ts";
import type { AnySql } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";
import { type IdempotencyKey, recallKey } from "../../kernel/http/idempotency.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { logAttemptOf, logStates } from "../state/turn-log.ts";
import type { AcceptedTurn } from "./accepted.ts";

/**
 * Returns the turn of a repeated Idempotency-Key; null when the key is new. Throws 422
 * `idempotency_key_reused` when the key was used for something else.
 */
export async function joinByKey(sql: AnySql, ctx: Ctx, key: IdempotencyKey): Promise<AcceptedTurn | null> {
  const known = await recallKey(sql, ctx.sealer, key);
  if (known === null) return null;
  if (known.turnId === null) throw new ApiError("idempotency_key_reused");
  const [log] = await logStates(sql, [known.turnId]);
  if (log === undefined) return null;
  const [row] = await sql<
    { sessionId: IdOf<"session"> | null }[]
  >`select session_id from turns where id = ${known.turnId}`;
  return {
    turnId: log.turnId,
    sessionId: row?.sessionId ?? null,
    assistantMessageId: log.assistantMessageId,
    attempt: logAttemptOf(log),
  };
}
