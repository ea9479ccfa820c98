import type { Ctx } from "../../kernel/context.ts";
import type { Sql, Tx } from "../../kernel/database/client.ts";
import { tx } from "../../kernel/database/transaction.ts";
import { ApiError } from "../../kernel/errors.ts";
import { previewOf } from "../../messages/text.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import { sessionBusy } from "../state/busy.ts";
import { findFirstPreview } from "../state/first-message.ts";
import { sessionBytes } from "../state/session-bytes.ts";
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

/** Sessions that one transaction erases a turn's messages from. */
const holdersPerStep = 50;

/**
 * Erases what a turn that has ended left in other sessions, which were forked or branched from its own, in bounded
 * transactions. What comes meanwhile is left to `deleteTurn`. Safe to repeat.
 */
export async function eraseTurnElsewhere(sql: Sql, turn: SessionTurn): Promise<void> {
  while ((await tx(sql, (inner) => eraseFromOthers(inner, turn))) === holdersPerStep);
}

/**
 * Deletes a turn that has ended, with all it said and did: its messages leave the transcript, and those that were copied
 * from it, and later turns do not know of it. The last turn of a session takes the session along. Usage and
 * billing stay. Throws 404, and 409 `session_busy` while the turn has not ended, or, where the session goes
 * too, another one has not.
 */
export async function deleteTurn(inner: Tx, turn: SessionTurn): Promise<void> {
  const { tenantId, agentId, sessionId, turnId } = turn;
  const [session] = await inner<{ hasMore: boolean }[]>`
    select exists (select 1 from turns t where t.session_id = s.id and t.id <> ${turnId}) as has_more from sessions s
    where s.id = ${sessionId} and s.tenant_id = ${tenantId} and s.agent_id = ${agentId} and s.deleted_at is null for update`;
  if (session === undefined) throw new ApiError("not_found");
  // A copy of this session waits for the lock; one of another session that holds the turn's messages is found the next time.
  while ((await eraseFromOthers(inner, turn)) > 0);
  if (!session.hasMore) return deleteSession(inner, tenantId, agentId, sessionId, false);
  const { count } = await inner`
    delete from turns where id = ${turnId} and session_id = ${sessionId} and status in ('succeeded', 'failed', 'canceled')`;
  if (count === 0) throw await sessionBusy(inner, sessionId);
  await eraseFrom(inner, [sessionId], turnId);
  await inner`delete from approvals where session_id = ${sessionId} and turn_id = ${turnId}`;
  await inner`delete from client_calls where session_id = ${sessionId} and turn_id = ${turnId}`;
  await inner`delete from continuations where turn_id = ${turnId}`;
  await inner`delete from turn_checkpoints where turn_id = ${turnId}`;
  await inner`update usage set metadata = '{}' where turn_id = ${turnId} and metadata::text <> '{}'`;
}

/**
 * Erases a turn's messages from some of the other sessions that hold any, and returns from how many. They are locked in
 * the order of their ids, as by everybody who locks several: a copy's is larger than its source's.
 */
async function eraseFromOthers(inner: Tx, { sessionId, turnId }: SessionTurn): Promise<number> {
  const holders = await otherHolders(inner, sessionId, turnId);
  await inner`select 1 from sessions where id = any(${holders}) order by id for update`;
  await eraseFrom(inner, holders, turnId);
  return holders.length;
}

/** Some of the other sessions with messages of a turn; of a copy there is no session yet. */
async function otherHolders(inner: Tx, sessionId: string, turnId: string): Promise<string[]> {
  const rows = await inner<{ sessionId: string }[]>`
    select distinct session_id from messages where turn_id = ${turnId} and session_id <> ${sessionId}
    order by session_id limit ${holdersPerStep}`;
  return rows.map((row) => row.sessionId);
}

/** Erases a turn's messages from locked sessions, with the summaries that tell of them. */
async function eraseFrom(inner: Tx, sessions: string[], turnId: string): Promise<void> {
  await inner`
    delete from session_summaries z where session_id = any(${sessions})
      and upto_seq >= (select min(seq) from messages m where m.session_id = z.session_id and m.turn_id = ${turnId})`;
  await inner`delete from messages where session_id = any(${sessions}) and turn_id = ${turnId}`;
  for (const id of sessions) await refreshSession(inner, id);
}

async function refreshSession(inner: Tx, sessionId: string): Promise<void> {
  const [last] = await inner<{ content: UiMessage }[]>`
    select content from messages where session_id = ${sessionId} order by seq desc limit 1`;
  await inner`
    update sessions s set updated_at = now(), bytes = ${sessionBytes(inner)}, last_message_preview = ${last === undefined ? "" : previewOf(last.content)},
      first_message_preview = ${await findFirstPreview(inner, sessionId)},
      message_count = (select count(*) from messages where session_id = ${sessionId})
    where id = ${sessionId}`;
}
