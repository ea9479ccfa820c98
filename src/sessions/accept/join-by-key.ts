import type { Ctx } from "../../kernel/context.ts";
import type { AnySql } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";
import { type IdempotencyKey, keyOfDeleted, recallKey } from "../../kernel/http/idempotency.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { logAttemptOf, logStates } from "../state/turn-log.ts";
import type { AcceptedTurn } from "./accepted.ts";

/**
 * Returns the turn of a repeated Idempotency-Key; null when the key is new. Throws 422
 * `idempotency_key_reused` when the key was used for something else, or when the turn's
 * session or agent is deleted: nothing tells its answer any more, and it does not run again.
 */
export async function joinByKey(sql: AnySql, ctx: Ctx, key: IdempotencyKey): Promise<AcceptedTurn | null> {
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
