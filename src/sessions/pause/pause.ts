import { type AnySql, json, type Tx } from "../../kernel/database/client.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { addSendJobSql } from "../../kernel/queue/outbox.ts";
import { type CallDecision, type CallResult, withDecisions, withResults } from "../../messages/tool-calls.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import { isSettled, queueContinuation } from "../state/continuation.ts";
import { resumeTurn } from "../state/turn.ts";

/** A turn that has stopped to ask, and what resumes it. */
export interface Pause {
  readonly sessionId: IdOf<"session">;
  readonly turnId: IdOf<"turn">;
  readonly continuationId: IdOf<"continuation">;
  readonly assistantMessageId: IdOf<"message">;
}

/** What people decided, and what the caller's tools answered. */
export interface Settled {
  readonly decisions: readonly CallDecision[];
  readonly results: readonly CallResult[];
}

/**
 * Makes known what was settled of one pause, and queues its continuation when nothing is
 * left to wait for; returns whether it did. The caller holds the lock of the turn's row, and has
 * just moved these approvals and calls.
 */
export async function applySettled(inner: Tx, pause: Pause, settled: Settled): Promise<boolean> {
  const { sessionId, turnId, continuationId } = pause;
  await writeIntoAnswer(inner, pause, settled);
  if (settled.decisions.length > 0) await enqueueCards(inner, sessionId);
  if (!(await isSettled(inner, continuationId))) return false;
  await queueContinuation(inner, continuationId);
  await resumeTurn(inner, turnId, continuationId);
  return true;
}

/**
 * Writes what was settled into the stored answer, so that a client which reads the transcript
 * now can continue with it: the AI SDK's client resumes a message whose calls are
 * `approval-responded` or have results, and does not wait for calls that are undecided. The
 * turn's row is locked, so that of two at the same time neither undoes the other.
 */
async function writeIntoAnswer(inner: Tx, pause: Pause, { decisions, results }: Settled): Promise<void> {
  const { turnId, sessionId, assistantMessageId } = pause;
  const [stored] = await inner<{ kept: UiMessage | null; content: UiMessage | null }[]>`
    select /* pause.read_answer */ t.answer as kept, m.content from turns t
    left join messages m on m.session_id = t.session_id and m.id = t.assistant_message_id and m.role = 'assistant'
    where t.id = ${turnId}`;
  const settled = (message: UiMessage) => json(inner, withResults(withDecisions(message, decisions), results));
  // A regeneration's unfinished answer is in the turn's row; the transcript has the previous one.
  if (stored?.kept != null)
    await inner`update /* turn.settle_answer */ turns set answer = ${settled(stored.kept)} where id = ${turnId}`;
  else if (stored?.content != null) {
    await inner`
      update /* message.settle */ messages set content = ${settled(stored.content)}
      where session_id = ${sessionId} and id = ${assistantMessageId} and role = 'assistant'`;
  }
}

/** Adds the job that shows decisions on a session's approval cards. Does nothing for a session without a chat. */
async function enqueueCards(sql: AnySql, sessionId: string): Promise<void> {
  await sql`
    with /* chat.add_delivery */ thread as materialized (
      select th.id as thread_id, c.tenant_id from chat_threads th join chat_connections c on c.id = th.connection_id
      where th.session_id = ${sessionId})
    select (${addSendJobSql(sql, "chat.deliver")}).id from thread`;
}
