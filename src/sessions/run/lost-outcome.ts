import type { AnySql } from "../../kernel/database/client.ts";
import { previewOf, storable } from "../../messages/text.ts";
import { type CallDecision, withDecisions } from "../../messages/tool-calls.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import { readCheckpoints } from "../state/checkpoint.ts";
import { outcomeWithoutMessages, type TurnError, type TurnOutcome, type TurnUsage } from "../state/turn-end.ts";
import { lostCallText, type Progress, reachedAnswer } from "./progress.ts";

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

/** Why a turn failed whose worker lives, and let go of it: its connection with the locks was away for too long, or Postgres did not store the end. */
export const workerLetGo: TurnError = {
  code: "service_unavailable",
  message: "The worker that ran this turn lost its hold on it, or could not store its end.",
};

/** Why a turn failed that kept its worker from answering for so long that it was ended from outside. Another one would stand as well. */
export const workerStopped: TurnError = {
  code: "provider_error",
  message: "The turn kept its worker from answering, and is not run again.",
};

/** Why and how a turn ends that cannot go on after its completed steps. */
interface LostEnd {
  readonly usage: TurnUsage;
  /** `workerLost` when left out. */
  readonly error?: TurnError;
}

/**
 * Returns the outcome of a turn that has completed steps and may not go on, mostly because its
 * worker was lost: it failed, and what it said and did so far is kept as an answer like any other.
 */
export async function lostOutcome(
  sql: AnySql,
  turnId: string,
  { progress, usage, error = workerLost }: LostEnd & { readonly progress: Progress },
): Promise<TurnOutcome> {
  const failed = outcomeWithoutMessages("failed", error, usage);
  const [row] = await sql<LostRow[]>`
    select /* turn.read_lost */ t.session_id, t.continuation_id, t.keep_seq, t.input, t.assistant_message_id, coalesce(t.answer, m.content) as stored,
      coalesce((
        select json_agg(json_build_object('toolCallId', a.tool_call_id, 'approved', a.status = 'approved', 'reason', a.reason))
        from approvals a where a.continuation_id = t.continuation_id and a.status <> 'pending'
      ), '[]') as decisions
    from turns t left join messages m on m.session_id = t.session_id and m.id = t.assistant_message_id and m.role = 'assistant'
    where t.id = ${turnId}`;
  if (row === undefined || row.sessionId === null) return failed;
  const { continuationId, stored, decisions, keepSeq, input } = row;
  const extended = continuationId === null || stored === null ? null : withDecisions(stored, decisions);
  const isLost = [workerLost, workerLetGo, workerStopped].includes(error);
  const callText = progress.mayHaveRun || isLost ? lostCallText : error.message;
  const message = storable(await reachedAnswer(progress, row.assistantMessageId, extended, callText));
  if (extended !== null && keepSeq === null) return { ...failed, replaced: message, preview: previewOf(message) };
  const asked = input === null || Array.isArray(input) ? [] : [input];
  return { ...failed, messages: [...asked, message], preview: previewOf(message) };
}

/**
 * Returns the same for a turn by what is stored of it, as it is of one that no worker has. The
 * transcript stays as it was when the turn has not completed a step.
 */
export async function storedLostOutcome(sql: AnySql, turnId: string, end: LostEnd): Promise<TurnOutcome> {
  const { error = workerLost, usage } = end;
  const [row] = await sql<{ mayHaveRun: boolean }[]>`
    select /* turn.may_have_run */ tool_events is not null as may_have_run from turns where id = ${turnId} and steps_done > 0`;
  if (row === undefined) return outcomeWithoutMessages("failed", error, usage);
  const progress = { saved: await readCheckpoints(sql, turnId), broken: [], events: 0, mayHaveRun: row.mayHaveRun };
  return lostOutcome(sql, turnId, { ...end, progress });
}
