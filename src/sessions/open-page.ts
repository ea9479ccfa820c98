import type { AnySql } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import type { UiMessage } from "../messages/ui-message.ts";
import { pendingMessages } from "./state/pending.ts";
import { type MessagePage, messagesBefore } from "./state/store.ts";

/** A message that the transcript does not hold yet. */
export type OpenMessage = UiMessage & { readonly pending?: true };

/**
 * Returns the newest messages of a session as a page shows them that follows its turns
 * (`GET …/messages?pending=true`): what users said ends it that the transcript does not hold
 * yet. While an answer is made anew, the one before it is left out, and what the new one was
 * when it stopped to ask is there in its place. The cursors are those of the transcript.
 */
export function openPage(
  sql: AnySql,
  sessionId: string,
  limit: number,
): Promise<MessagePage & { data: OpenMessage[] }> {
  return tx(sql, async (inner) => {
    // One snapshot: a message that joins the transcript meanwhile would be there twice, or not at all.
    await inner`set transaction isolation level repeatable read, read only`;
    const [anew] = await inner<{ keepSeq: number; answer: UiMessage | null }[]>`
      select keep_seq, answer from turns
      where session_id = ${sessionId} and status in ('queued', 'running', 'waiting') and keep_seq is not null`;
    const page = await messagesBefore(inner, sessionId, undefined, limit, anew?.keepSeq ?? null);
    const said = (await pendingMessages(inner, sessionId)).map(({ message }) => message);
    const added = anew?.answer == null ? said : [anew.answer, ...said];
    return { ...page, data: [...page.data, ...added.map((message) => ({ ...message, pending: true as const }))] };
  });
}
