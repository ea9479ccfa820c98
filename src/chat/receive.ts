import { type AnySql, json, tx } from "../kernel/database/client.ts";
import { ApiError } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import { decideApproval } from "../sessions/approvals.ts";
import { addDeliverJob, addInboxJob } from "../sessions/run/hand-over.ts";
import type { IncomingMessage, IncomingPress } from "./platform.ts";
import { inboxRowsMax } from "./schema.ts";
import type { ChatConnectionRow } from "./store.ts";

/**
 * Takes a message in, once: its event and the message itself are noted, it waits
 * in its thread, and a job begins its turn. Answers false when it was known, or
 * the thread has too many that wait. One statement, so that all of it happens or none.
 */
export async function receiveMessage(
  sql: AnySql,
  connection: Pick<ChatConnectionRow, "id" | "platform">,
  message: IncomingMessage,
): Promise<boolean> {
  const { keys, threadKey, address, place, owner, text } = message;
  const rows = await sql`
    with fresh as (
      insert into chat_events (connection_id, key)
      select ${connection.id}, key from unnest(${keys as string[]}::text[]) key
      on conflict do nothing returning 1
    ), thread as (
      insert into chat_threads (id, connection_id, key, address)
      select ${newId("chatThread")}, ${connection.id}, ${threadKey}, ${json(sql, address)}
      where (select count(*) from fresh) = ${keys.length}
      on conflict (connection_id, key) do update set address = excluded.address
      returning id
    ), waiting as (
      insert into chat_inbox (thread_id, place, user_id, text)
      select id, ${place}, ${`${connection.platform}:${owner}`}, ${storable(text)} from thread
      where (select count(*) from chat_inbox i where i.thread_id = thread.id) < ${inboxRowsMax}
      returning thread_id
    )
    select (${addInboxJob(sql)}).id from waiting`;
  return rows.length > 0;
}

/** Postgres stores neither NUL nor half a surrogate pair. */
function storable(text: string): string {
  return text.replaceAll("\0", "\uFFFD").toWellFormed();
}

/**
 * Decides the approval whose card was pressed, if this very connection posted
 * that card into that channel, and the approval is still open. Nobody presses
 * twice: the second press finds it decided.
 */
export function receivePress(
  sql: AnySql,
  connection: Pick<ChatConnectionRow, "id">,
  { approvalId, approved, channel, pressId }: IncomingPress,
): Promise<boolean> {
  return tx(sql, async (inner) => {
    const [card] = await inner<{ session_id: string; thread_id: string }[]>`
      update chat_deliveries d set press_id = coalesce(${pressId}, press_id)
      from chat_threads th
      where d.approval_id = ${approvalId} and d.connection_id = ${connection.id} and th.id = d.thread_id
        and th.address ->> 'channel' = ${channel}
      returning d.session_id, d.thread_id`;
    if (card === undefined) return false;
    await inner`select (${addDeliverJob(inner)}).id from (select ${card.thread_id}::text as thread_id) card`;
    try {
      await decideApproval(inner, card.session_id, approvalId, { approved, reason: null });
      return true;
    } catch (error) {
      if (error instanceof ApiError && (error.reason === "approval_decided" || error.reason === "not_found"))
        return false;
      throw error;
    }
  });
}
