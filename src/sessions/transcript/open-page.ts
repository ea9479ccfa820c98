import type { AnySql } from "../../kernel/database/client.ts";
import { tx } from "../../kernel/database/transaction.ts";
import { pendingTexts } from "../state/pending.ts";
import { largePageBytes, type MessagePage, messagesBefore } from "./message-page.ts";

/**
 * Returns the newest messages of a session as a page shows them that follows its turns
 * (`GET …/messages?pending=true`): what users said ends it that the transcript does not hold
 * yet. While an answer is made anew, the one before it is left out, and what the new one was
 * when it stopped to ask is there in its place. The cursors are those of the transcript.
 * Null where that is a large page and there is no place for it.
 */
export function openPage(
  sql: AnySql,
  sessionId: string,
  { limit, inPlace }: { readonly limit: number; readonly inPlace: boolean },
): Promise<MessagePage | null> {
  return tx(sql, async (inner) => {
    // One snapshot: a message that joins the transcript meanwhile would be there twice, or not at all.
    await inner`set transaction isolation level repeatable read, read only`;
    const bytesMax = inPlace ? null : largePageBytes;
    const [anew] = (await inner`
      select /* turn.read_anew */ keep_seq, answer is not null, case when ${bytesMax}::int is null or octet_length(answer::text) <= ${bytesMax}::int then answer end
      from turns
      where session_id = ${sessionId} and status in ('queued', 'running', 'waiting') and keep_seq is not null`.raw()) as unknown as (Buffer | null)[][];
    const [keepSeq, hasAnswer, answer] = anew ?? [];
    if (String(hasAnswer) === "t" && answer == null) return null;
    const said = await pendingTexts(inner, sessionId, bytesMax);
    if (said === null) return null;
    const page = await messagesBefore(inner, sessionId, undefined, {
      limit,
      inPlace,
      keepSeq: keepSeq == null ? null : Number(String(keepSeq)),
    });
    if (page === null) return null;
    const added = answer == null ? said : [answer, ...said];
    return { ...page, messages: [...page.messages, ...added.map(asPending)] };
  });
}

const pendingField = Buffer.from(',"pending":true}');

/** Returns the JSON of a message with one more field, `pending`. */
function asPending(message: Uint8Array): Uint8Array {
  return Buffer.concat([message.subarray(0, message.lastIndexOf(closing)), pendingField]);
}

const closing = "}".charCodeAt(0);
