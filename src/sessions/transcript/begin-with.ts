import { json, type Tx } from "../../kernel/database/client.ts";
import { type IdOf, newId } from "../../kernel/ids.ts";
import { storable } from "../../messages/text.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import { findFirstPreview } from "../state/first-message.ts";
import { sessionBytes } from "../state/session-bytes.ts";
import { type TranscriptCopy, takeCopy } from "./copy.ts";

/** What a new session holds before its first turn. */
export interface SessionBegin {
  /** The transcript of another session of the same agent; null: none. */
  readonly copy: TranscriptCopy | null;
  /** What follows that. */
  readonly messages: readonly UiMessage[];
}

/** Writes what a new session begins with, in the transaction that accepts its first turn. Throws as `takeCopy`. */
export async function beginWith(
  inner: Tx,
  sessionId: IdOf<"session">,
  { copy, messages }: SessionBegin,
): Promise<void> {
  if (copy !== null) await takeCopy(inner, copy);
  // Of no turn of this session: its end, whatever it is, leaves them as they are.
  await inner`
    insert /* message.begin_with */ into messages (session_id, seq, id, role, turn_id, content)
    select ${sessionId}, coalesce((select max(seq) from messages where session_id = ${sessionId}), 0) + n.place,
      n.message ->> 'id', n.message ->> 'role', ${newId("turn")}, n.message
    from json_array_elements(${json(inner, storable(messages))}) with ordinality as n (message, place)`;
  await inner`
    update /* session.count */ sessions s set message_count = ${(copy?.messages ?? 0) + messages.length}, bytes = ${sessionBytes(inner)},
      first_message_preview = ${await findFirstPreview(inner, sessionId)}
    where id = ${sessionId}`;
}

/** Returns whether the answer of this turn is the last message of its session, which the caller has locked. */
export async function isLastAnswer(inner: Tx, sessionId: string, turnId: string): Promise<boolean> {
  const [last] = await inner<{ turnId: string }[]>`
    select /* message.last_turn */ turn_id from messages where session_id = ${sessionId} order by seq desc limit 1`;
  return last?.turnId === turnId;
}
