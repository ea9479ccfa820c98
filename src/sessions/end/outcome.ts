import { newId } from "../../kernel/ids.ts";
import { closeParts } from "../../messages/close-parts.ts";
import { previewOf, storable } from "../../messages/text.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { CancelKeep } from "../state/cancel-request.ts";
import { noUsage, type TurnError, type TurnOutcome, type TurnUsage } from "../state/turn-end.ts";
import type { EndingTurn, Reached } from "./reached.ts";

/**
 * How a turn ended, and what that leaves:
 *
 * | why       | when                                                   | status    | transcript            | a call without an end says |
 * |-----------|--------------------------------------------------------|-----------|-----------------------|----------------------------|
 * | finished  | the model has answered                                 | succeeded | question and answer   | it stays (none is open)    |
 * | asks      | calls wait for a person, or for the caller             | waiting   | question and answer   | it stays                   |
 * | failed    | the model or the service failed                        | failed    | as it was (1)         | the error's message        |
 * | credit    | the tenant's credit is used up                         | failed    | what was said (2)     | the error's message        |
 * | budget    | a budget is used up                                    | failed    | what was said (2)     | the error's message        |
 * | limit     | a limit of the agent was reached                       | failed    | what was said (2)     | the error's message        |
 * | drained   | its worker stops, and it cannot be handed back         | failed    | what was said (2)     | the error's message        |
 * | lost      | its worker was lost                                    | failed    | what was said (2)     | `lostCallText`             |
 * | discarded | it cannot go on, or the operator took it out           | failed    | what was said (2)     | the error's message (3)    |
 * | refused   | it may not start                                       | failed    | as it was             | none is made yet           |
 * | canceled  | with `keep: "nothing"`                                 | canceled  | as it was before (4)  | it is removed              |
 * | canceled  | with `keep: "partial"`                                 | canceled  | question, what was said | `canceledCallText`       |
 *
 * 1. But of a continuation, whose answer is in the transcript already: it is replaced by what was said.
 * 2. As it was, where nothing was said.
 * 3. `lostCallText` where tools of the step may have run.
 * 4. What the turn had said when it stopped to ask is removed, and the preview is that of the message before.
 *
 * Where an answer goes: that of a continuation replaces the stored one. That of a regeneration joins the transcript,
 * which is cut before it; but while it asks it waits in the turn's row, and the previous answer stays. A stateless
 * generation has no transcript: its good answer is kept in the turn's row, anything else of it is not. The
 * preview is always that of the last message which is written.
 */
export type EndCause =
  | "finished"
  | "asks"
  | "failed"
  | "credit"
  | "budget"
  | "limit"
  | "drained"
  | "lost"
  | "discarded"
  | "refused"
  | "canceled";

/** What of an answer is stored: `whole` with its open calls, the rest closed; `continued` only where a stored one is extended. */
type Keeps = "whole" | "said" | "continued" | "nothing";

const rows: { readonly [Why in EndCause]: { readonly status: TurnOutcome["status"]; readonly keeps: Keeps } } = {
  finished: { status: "succeeded", keeps: "whole" },
  asks: { status: "waiting", keeps: "whole" },
  failed: { status: "failed", keeps: "continued" },
  credit: { status: "failed", keeps: "said" },
  budget: { status: "failed", keeps: "said" },
  limit: { status: "failed", keeps: "said" },
  drained: { status: "failed", keeps: "said" },
  lost: { status: "failed", keeps: "said" },
  discarded: { status: "failed", keeps: "said" },
  refused: { status: "failed", keeps: "nothing" },
  canceled: { status: "canceled", keeps: "nothing" },
};

/** What a call ends with that was under way when its worker was lost. It is not made again. */
export const lostCallText = "The worker was lost while this ran; it may have happened.";
/** What a call ends with that a cancellation left without an end. */
export const canceledCallText = "The turn was canceled before this was done.";

/** Why a turn ends, how far it came, and what it used. */
export interface TurnEnding {
  readonly why: EndCause;
  /** Why it failed; left out for any other end. */
  readonly error?: TurnError;
  readonly reached: Reached;
  /** What the caller that cancelled it wants to keep; `nothing` when left out. */
  readonly keep?: CancelKeep;
  /** What the turn's row does not have yet; nothing when left out. */
  readonly usage?: TurnUsage;
}

/** Returns the outcome of a turn that ended, by the table above. */
export function outcomeOf(turn: EndingTurn, ending: TurnEnding): TurnOutcome {
  const { why, error = null, reached, usage = noUsage, keep = "nothing" } = ending;
  const { status } = rows[why];
  const asks = why === "asks";
  return {
    status,
    error,
    usage,
    usageKnown: true,
    ...placed(turn, ending),
    ...(why === "canceled" && keep === "nothing" ? { preview: previewBefore(turn, reached) } : {}),
    relayEvents: null,
    lastChunk: lastChunkOf(ending),
    continuationId: asks ? newId("continuation") : null,
    approvals: asks ? (reached.waitsFor?.approvals ?? []) : [],
    clientCalls: asks ? (reached.waitsFor?.clientCalls ?? []) : [],
    record: null,
  };
}

/** Where the messages of an end go. */
type Placed = Pick<TurnOutcome, "messages" | "replaced" | "preview" | "answer">;

const nowhere: Placed = { messages: [], replaced: null, preview: null, answer: null };

function placed(turn: EndingTurn, ending: TurnEnding): Placed {
  const { why } = ending;
  const isGood = rows[why].keeps === "whole";
  const message = keptMessage(turn, ending);
  const rowOnly = turn.sessionId === null || (turn.keepSeq !== null && why === "asks");
  if (rowOnly) return { ...nowhere, answer: isGood ? message : null };
  if (extendsStored(turn))
    return message === null ? nowhere : { ...nowhere, replaced: message, preview: previewOf(message) };
  // A question is kept without an answer where that was asked for.
  if (message === null && !(why === "canceled" && ending.keep === "partial")) return nowhere;
  const messages = [...askedOf(turn), ...(message === null ? [] : [message])];
  const last = messages.at(-1);
  return { ...nowhere, messages, preview: last === undefined ? null : previewOf(last) };
}

/** Returns the answer as it is stored; null where none is. */
function keptMessage(turn: EndingTurn, { why, error, reached, keep }: TurnEnding): UiMessage | null {
  const { message } = reached;
  const keeps = why === "canceled" && keep === "partial" ? "said" : rows[why].keeps;
  if (message === null || keeps === "nothing" || (keeps === "continued" && !extendsStored(turn))) return null;
  if (keeps === "whole") return message;
  if (!message.parts.some((part) => (part as { type?: unknown }).type !== "step-start")) return null;
  return storable(closeParts(message, callTextOf(why, reached, error)));
}

function callTextOf(why: EndCause, { mayHaveRun = false }: Reached, error: TurnError | undefined): string {
  if (why === "canceled") return canceledCallText;
  if (why === "lost" || (why === "discarded" && mayHaveRun)) return lostCallText;
  return error?.message ?? canceledCallText;
}

function lastChunkOf({ why, error, reached }: TurnEnding): unknown {
  if (rows[why].keeps === "whole") return reached.lastChunk;
  return why === "canceled" ? { type: "abort" } : { type: "error", errorText: error?.message ?? "The turn failed." };
}

/** Returns whether a turn's answer replaces one that the transcript has. */
function extendsStored({ continuationId, keepSeq }: EndingTurn): boolean {
  return continuationId !== null && keepSeq === null;
}

/** Returns the user's message; none of a regeneration, or of a generation, whose messages are not stored. */
function askedOf({ input }: EndingTurn): UiMessage[] {
  return input === null || Array.isArray(input) ? [] : [input as UiMessage];
}

/** Returns the session's preview without the turn; null where the turn has not changed it. */
function previewBefore({ continuationId }: EndingTurn, { before }: Reached): string | null {
  if (continuationId === null) return null;
  return before == null ? "" : previewOf(before);
}
