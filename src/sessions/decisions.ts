import { json, type Tx } from "../kernel/database/client.ts";
import type { IdOf } from "../kernel/ids.ts";
import { withDecisions } from "../messages/tool-calls.ts";
import type { UiMessage } from "../messages/ui-message.ts";
import { enqueueCards } from "./run/hand-over.ts";
import { queueContinuation } from "./state/continuation.ts";
import { resumeTurn } from "./state/turn.ts";

/** What of an approval's row its decision concerns. */
export interface DecidedCall {
  readonly sessionId: IdOf<"session">;
  readonly turnId: IdOf<"turn">;
  readonly continuationId: IdOf<"continuation">;
  readonly toolCallId: string;
  readonly assistantMessageId: IdOf<"message">;
  readonly status: "pending" | "approved" | "denied";
  readonly reason: string | null;
}

/**
 * Makes known what was decided on some calls of one pause, and queues its continuation
 * when nothing is left to decide. The caller holds the lock of the turn's row, and has
 * just decided these approvals.
 */
export async function applyDecisions(inner: Tx, decided: readonly [DecidedCall, ...DecidedCall[]]): Promise<void> {
  const { sessionId, turnId, continuationId } = decided[0];
  await writeDecisions(inner, decided);
  await enqueueCards(inner, sessionId);
  const [left] = await inner`
    select 1 from approvals where continuation_id = ${continuationId} and status = 'pending' limit 1`;
  if (left !== undefined) return;
  await queueContinuation(inner, continuationId);
  await resumeTurn(inner, turnId, continuationId);
}

/**
 * Writes decisions into the stored answer, so that a client which reads the transcript
 * now can continue with it: the AI SDK's client resumes a message whose calls are
 * `approval-responded`, and does not wait for calls that are undecided. The turn's row is
 * locked, so that of two concurrent decisions neither undoes the other.
 */
async function writeDecisions(inner: Tx, calls: readonly [DecidedCall, ...DecidedCall[]]): Promise<void> {
  const { turnId, sessionId, assistantMessageId } = calls[0];
  const [stored] = await inner<{ kept: UiMessage | null; content: UiMessage | null }[]>`
    select t.answer as kept, m.content from turns t
    left join messages m on m.session_id = t.session_id and m.id = t.assistant_message_id and m.role = 'assistant'
    where t.id = ${turnId}`;
  const decisions = calls.map(({ toolCallId, status, reason }) => ({
    toolCallId,
    approved: status === "approved",
    reason,
  }));
  const decided = (message: UiMessage) => json(inner, withDecisions(message, decisions));
  // A regeneration's unfinished answer is in the turn's row; the transcript has the previous one.
  if (stored?.kept != null) await inner`update turns set answer = ${decided(stored.kept)} where id = ${turnId}`;
  else if (stored?.content != null) {
    await inner`
      update messages set content = ${decided(stored.content)}
      where session_id = ${sessionId} and id = ${assistantMessageId} and role = 'assistant'`;
  }
}
