import { json, type Tx } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";
import { type IdOf, newId } from "../../kernel/ids.ts";
import { storable } from "../../messages/text.ts";
import type { UiMessage } from "../../messages/ui-message.ts";

/** What a new session holds before its first turn. */
export interface SessionBegin {
  /** The transcript of another session of the same agent, up to the answer of one of its turns; null: none. */
  readonly source: { readonly sessionId: IdOf<"session">; readonly turnId: IdOf<"turn"> } | null;
  /** What follows that. */
  readonly messages: readonly UiMessage[];
}

/**
 * Writes what a new session begins with, in the transaction that accepts its first turn. The
 * source is read as it is stored at that moment and not locked. Throws 404 when it does not hold
 * that answer any more.
 */
export async function beginWith(inner: Tx, sessionId: IdOf<"session">, begin: SessionBegin): Promise<void> {
  if (begin.source !== null) await copyTranscript(inner, sessionId, begin.source);
  // Of no turn of this session: its end, whatever it is, leaves them as they are.
  const messages = json(inner, storable(begin.messages));
  await inner`
    insert into messages (session_id, seq, id, role, turn_id, content)
    select ${sessionId}, coalesce((select max(seq) from messages where session_id = ${sessionId}), 0) + n.place,
      n.message ->> 'id', n.message ->> 'role', ${newId("turn")}, n.message
    from json_array_elements(${messages}) with ordinality as n (message, place)`;
  await inner`
    update sessions set message_count = (select count(*) from messages where session_id = ${sessionId})
    where id = ${sessionId}`;
}

/** Places stay, because the summary names one. */
async function copyTranscript(
  inner: Tx,
  sessionId: IdOf<"session">,
  source: NonNullable<SessionBegin["source"]>,
): Promise<void> {
  const [row] = await inner<{ copied: number }[]>`
    with through as materialized (
      select max(m.seq) as seq from messages m join sessions s on s.id = m.session_id and s.visible and s.deleted_at is null
      where m.session_id = ${source.sessionId} and m.turn_id = ${source.turnId}
    ), copied as (
      insert into messages (session_id, seq, id, role, turn_id, content)
      select ${sessionId}, m.seq, m.id, m.role, m.turn_id, m.content
      from messages m join through on m.seq <= through.seq where m.session_id = ${source.sessionId}
      returning 1
    ), summarised as (
      insert into session_summaries (session_id, upto_seq, text)
      select ${sessionId}, z.upto_seq, z.text
      from session_summaries z join through on z.upto_seq <= through.seq where z.session_id = ${source.sessionId}
    )
    select count(*)::int as copied from copied`;
  if (row === undefined || row.copied === 0) throw new ApiError("not_found");
}

/** Returns whether the answer of this turn is the last message of its session, which the caller has locked. */
export async function isLastAnswer(inner: Tx, sessionId: string, turnId: string): Promise<boolean> {
  const [last] = await inner<{ turnId: string }[]>`
    select turn_id from messages where session_id = ${sessionId} order by seq desc limit 1`;
  return last?.turnId === turnId;
}
