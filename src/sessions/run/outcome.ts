import type { AnySql } from "../../kernel/database/client.ts";
import { newId } from "../../kernel/ids.ts";
import { closeParts } from "../../messages/close-parts.ts";
import { withFinishReason } from "../../messages/finish-reason.ts";
import { previewOf, storable } from "../../messages/text.ts";
import { clientCalls, pendingCalls } from "../../messages/tool-calls.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { ModelResult } from "../../model/run-model.ts";
import type { ClaimedTurn } from "../state/claimed-turn.ts";
import {
  noUsage,
  outcomeWithoutMessages,
  type TurnError,
  type TurnOutcome,
  type TurnUsage,
} from "../state/turn-end.ts";
import type { TurnRecord } from "../state/turn-step.ts";
import type { PreparedTurn } from "./prepare.ts";

/**
 * Returns the outcome of a model that finished: the turn succeeded, or it stops to ask
 * for approvals or for results of the caller's tools. The answer of a regeneration joins the transcript only when it
 * succeeded; until then it waits in the turn's own row, and the previous answer stays.
 */
export function goodOutcome(
  turn: ClaimedTurn,
  prepared: PreparedTurn,
  result: ModelResult,
  usage: TurnUsage,
): TurnOutcome {
  const { message, lastChunk } = withFinishReason(storable(result.message), result.lastChunk);
  const pending = turn.sessionId === null ? [] : pendingCalls(message);
  const asked = turn.sessionId === null ? [] : clientCalls(message, clientToolNames(prepared));
  const asks = pending.length > 0 || asked.length > 0;
  const regenerates = turn.keepSeq !== null;
  const kept = turn.sessionId === null || (regenerates && asks);
  const extended = prepared.extended !== null && !regenerates;
  const said = turn.input === null || Array.isArray(turn.input) ? [] : [turn.input as UiMessage];
  return {
    ...outcomeWithoutMessages("failed", null, usage),
    status: asks ? "waiting" : "succeeded",
    messages: kept || extended ? [] : [...said, message],
    replaced: extended ? message : null,
    preview: kept ? null : previewOf(message),
    answer: kept ? message : null,
    lastChunk,
    continuationId: asks ? newId("continuation") : null,
    approvals: pending,
    clientCalls: asked,
  };
}

function clientToolNames({ tools }: PreparedTurn): ReadonlySet<string> {
  return new Set(tools.flatMap(({ name, source }) => (source.kind === "client" ? [name] : [])));
}

/**
 * Returns the outcome of a turn that failed. The transcript stays as it was, but for a
 * continuation: what its tools did is kept, and what was open in it is closed.
 */
export function failedOutcome(
  error: TurnError,
  turn: ClaimedTurn,
  prepared: PreparedTurn | null,
  result: ModelResult | null,
  usage: TurnUsage,
): TurnOutcome {
  const reached = prepared?.extended == null ? null : longer(prepared.extended, result?.message ?? null);
  const keeps = turn.continuationId !== null && turn.keepSeq === null && reached !== null;
  const replaced = keeps ? storable(closeParts(reached, error.message)) : null;
  const preview = replaced === null ? null : previewOf(replaced);
  return { ...outcomeWithoutMessages("failed", error, usage), replaced, preview };
}

/**
 * Returns the outcome of a turn that had to end between its steps: it failed, and what
 * its steps did so far is kept as an answer like any other. A turn that has done nothing
 * yet leaves the transcript as it was.
 */
export function cutShortOutcome(
  error: TurnError,
  turn: ClaimedTurn,
  prepared: PreparedTurn,
  result: ModelResult,
  usage: TurnUsage,
): TurnOutcome {
  const failed = failedOutcome(error, turn, prepared, result, usage);
  const reached = reachedMessage(prepared, result);
  if (turn.sessionId === null || failed.replaced !== null || reached.parts.length === 0) return failed;
  const message = storable(closeParts(reached, error.message));
  const asked = turn.input === null || Array.isArray(turn.input) ? [] : [turn.input as UiMessage];
  return { ...failed, messages: [...asked, message], preview: previewOf(message) };
}

/**
 * Returns the outcome of a turn that was cancelled: the transcript is as it was before
 * the turn, also when the turn had stopped to ask in between.
 */
export async function canceledOutcome(
  sql: AnySql,
  turnId: string,
  isContinuation: boolean,
  usage: TurnUsage = noUsage,
): Promise<TurnOutcome> {
  const preview = isContinuation ? await previewWithout(sql, turnId) : null;
  return { ...outcomeWithoutMessages("canceled", null, usage), preview };
}

/** Returns the session's preview as it is without this turn's messages. */
async function previewWithout(sql: AnySql, turnId: string): Promise<string> {
  const [last] = await sql<{ content: UiMessage }[]>`
    select /* turn.read_answer_before */ m.content from turns t join messages m on m.session_id = t.session_id and m.turn_id <> t.id
    where t.id = ${turnId} order by m.seq desc limit 1`;
  return last === undefined ? "" : previewOf(last.content);
}

/** Returns the answer of a claim as far as it came. */
export function reachedMessage({ extended }: PreparedTurn, { message }: ModelResult): UiMessage {
  return extended === null ? message : longer(extended, message);
}

/** Returns the answer as far as it was generated: the model's message has all of it, once the model has begun. */
function longer(extended: UiMessage, message: UiMessage | null): UiMessage {
  return message !== null && message.parts.length >= extended.parts.length ? message : extended;
}

/** Returns the outcome with the record of its steps, and the events of its log as it stands once the last chunks are written. */
export function withLog(outcome: TurnOutcome, record: TurnRecord, relayEvents: number): TurnOutcome {
  return { ...outcome, record, relayEvents };
}
