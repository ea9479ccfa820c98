import type { AnySql } from "../../kernel/database/client.ts";
import { previewOf, storable } from "../../messages/text.ts";
import { type CallDecision, withDecisions } from "../../messages/tool-calls.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import { outcomeWithoutMessages, type TurnError, type TurnOutcome, type TurnUsage } from "../state/turn-end.ts";
import { type Progress, reachedAnswer } from "./progress.ts";

interface LostRow {
  readonly sessionId: string | null;
  readonly continuationId: string | null;
  readonly keepSeq: number | null;
  readonly input: UiMessage | UiMessage[] | null;
  readonly assistantMessageId: string;
  /** The answer that the continuation extends. */
  readonly stored: UiMessage | null;
  readonly decisions: readonly CallDecision[];
}

/** Why a turn failed whose worker was lost. */
export const workerLost: TurnError = {
  code: "service_unavailable",
  message: "The worker that ran this turn was lost.",
};

/**
 * Returns the outcome of a turn that has completed steps, was lost and may not go on: it
 * failed, and what it said and did so far is kept as an answer like any other.
 */
export async function lostOutcome(
  sql: AnySql,
  turnId: string,
  { progress, usage }: { readonly progress: Progress; readonly usage: TurnUsage },
): Promise<TurnOutcome> {
  const failed = outcomeWithoutMessages("failed", workerLost, usage);
  const [row] = await sql<LostRow[]>`
    select t.session_id, t.continuation_id, t.keep_seq, t.input, t.assistant_message_id, coalesce(t.answer, m.content) as stored,
      coalesce((
        select json_agg(json_build_object('toolCallId', a.tool_call_id, 'approved', a.status = 'approved', 'reason', a.reason))
        from approvals a where a.continuation_id = t.continuation_id and a.status <> 'pending'
      ), '[]') as decisions
    from turns t left join messages m on m.session_id = t.session_id and m.id = t.assistant_message_id and m.role = 'assistant'
    where t.id = ${turnId}`;
  if (row === undefined || row.sessionId === null) return failed;
  const { continuationId, stored, decisions, keepSeq, input } = row;
  const extended = continuationId === null || stored === null ? null : withDecisions(stored, decisions);
  const message = storable(await reachedAnswer(progress, row.assistantMessageId, extended));
  if (extended !== null && keepSeq === null) return { ...failed, replaced: message };
  const asked = input === null || Array.isArray(input) ? [] : [input];
  return { ...failed, messages: [...asked, message], preview: previewOf(message) };
}
