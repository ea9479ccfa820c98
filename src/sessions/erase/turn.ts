import type { Ctx } from "../../kernel/context.ts";
import type { Tx } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";
import { previewOf } from "../../messages/text.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import { deleteSession } from "../state/store.ts";
import { turnLogsOf } from "./rows.ts";

/** A turn of a session. */
interface SessionTurn {
  readonly tenantId: string;
  readonly agentId: string;
  readonly sessionId: string;
  readonly turnId: string;
}

/** Erases the logs of a turn that has ended, before its rows are deleted (`deleteTurn`). Safe to repeat. */
export async function eraseTurnLogs({ sql, relay }: Pick<Ctx, "sql" | "relay">, turnId: string): Promise<void> {
  await relay.erase(await turnLogsOf(sql, turnId));
}

/**
 * Deletes a turn that has ended, with all it said and did: its messages leave the transcript, and
 * later turns of the session do not know of it. The last turn of a session takes the session along. Usage and
 * billing stay. Throws 404, and 409 `session_busy` while the turn has not ended, or, where the session goes
 * too, another one has not.
 */
export async function deleteTurn(inner: Tx, turn: SessionTurn): Promise<void> {
  const { tenantId, agentId, sessionId, turnId } = turn;
  const [session] = await inner<{ hasMore: boolean }[]>`
    select exists (select 1 from turns t where t.session_id = s.id and t.id <> ${turnId}) as has_more from sessions s
    where s.id = ${sessionId} and s.tenant_id = ${tenantId} and s.agent_id = ${agentId} and s.deleted_at is null for update`;
  if (session === undefined) throw new ApiError("not_found");
  if (!session.hasMore) return deleteSession(inner, tenantId, agentId, sessionId, false);
  const { count } = await inner`
    delete from turns where id = ${turnId} and session_id = ${sessionId} and status in ('succeeded', 'failed', 'canceled')`;
  if (count === 0) throw new ApiError("session_busy");
  await inner`
    delete from session_summaries where session_id = ${sessionId}
      and upto_seq >= (select min(seq) from messages where session_id = ${sessionId} and turn_id = ${turnId})`;
  await inner`delete from messages where session_id = ${sessionId} and turn_id = ${turnId}`;
  await inner`delete from approvals where session_id = ${sessionId} and turn_id = ${turnId}`;
  await inner`delete from client_calls where session_id = ${sessionId} and turn_id = ${turnId}`;
  await inner`delete from continuations where turn_id = ${turnId}`;
  await inner`delete from turn_checkpoints where turn_id = ${turnId}`;
  await inner`update usage set metadata = '{}' where turn_id = ${turnId} and metadata::text <> '{}'`;
  await refreshSession(inner, sessionId);
}

async function refreshSession(inner: Tx, sessionId: string): Promise<void> {
  const [last] = await inner<{ content: UiMessage }[]>`
    select content from messages where session_id = ${sessionId} order by seq desc limit 1`;
  await inner`
    update sessions set updated_at = now(), last_message_preview = ${last === undefined ? "" : previewOf(last.content)},
      message_count = (select count(*) from messages where session_id = ${sessionId})
    where id = ${sessionId}`;
}
