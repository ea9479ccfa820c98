import type { UIMessageChunk } from "ai";
import type { AnySql } from "../../kernel/database/client.ts";
import { closeParts } from "../../messages/close-parts.ts";
import { previewOf, storable } from "../../messages/text.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { CancelKeep } from "../state/cancel-request.ts";
import { readCheckpoints } from "../state/checkpoint.ts";
import { canceledCallText } from "../state/complete-turn-log.ts";
import { noUsage, outcomeWithoutMessages, type TurnOutcome, type TurnUsage } from "../state/turn-end.ts";
import { assembledAnswer } from "./progress.ts";

/**
 * What stays of a turn that was cancelled with `keep: "partial"`: the user's message, and the
 * answer as far as it had come, as messages like any other.
 */

/** Of a turn, what decides where its answer goes. */
interface KeptTurn {
  readonly input: UiMessage | readonly UiMessage[] | null;
  /** Null: a stateless generation, of which nothing is kept. */
  readonly sessionId: string | null;
  readonly continuationId: string | null;
  readonly keepSeq: number | null;
}

/** Returns what whoever cancelled a turn first wants to keep of it. */
export async function keepOf(sql: AnySql, turnId: string): Promise<CancelKeep> {
  const [row] = await sql<
    { keep: CancelKeep | null }[]
  >`select /* turn.read_keep */ cancel_keep as keep from turns where id = ${turnId}`;
  return row?.keep ?? "nothing";
}

/** Returns whether somebody has asked a turn to stop. */
export async function isToStop(sql: AnySql, turnId: string): Promise<boolean> {
  const rows =
    await sql`select /* turn.is_canceled */ 1 from turns where id = ${turnId} and cancel_requested_at is not null`;
  return rows.length > 0;
}

/**
 * Returns the outcome of a cancelled turn of which everything is kept that it `reached`; null
 * when it said nothing. A regeneration that said nothing leaves the previous answer.
 */
export function keptOutcome(turn: KeptTurn, reached: UiMessage | null, usage: TurnUsage = noUsage): TurnOutcome {
  const canceled = outcomeWithoutMessages("canceled", null, usage);
  if (turn.sessionId === null) return canceled;
  const said = reached?.parts.some((part) => (part as { type?: unknown }).type !== "step-start") ?? false;
  const message = said ? storable(closeParts(reached as UiMessage, canceledCallText)) : null;
  // The transcript has the answer already, up to where it stopped to ask.
  if (turn.continuationId !== null && turn.keepSeq === null)
    return message === null ? canceled : { ...canceled, replaced: message, preview: previewOf(message) };
  const asked = turn.input === null || Array.isArray(turn.input) ? [] : [turn.input as UiMessage];
  const messages = [...asked, ...(message === null ? [] : [message])];
  const last = messages.at(-1);
  return { ...canceled, messages, preview: last === undefined ? null : previewOf(last) };
}

/**
 * Returns the same for a turn by what is stored of it: what it had answered when it stopped to
 * ask, and in completed steps since. `shown`: all that readers have of it since, where that is known.
 */
export async function storedKeptOutcome(
  sql: AnySql,
  turnId: string,
  {
    usage = noUsage,
    shown = null,
  }: { readonly usage?: TurnUsage; readonly shown?: readonly UIMessageChunk[] | null } = {},
): Promise<TurnOutcome> {
  const stored = await readKeptTurn(sql, turnId);
  if (stored === null) return outcomeWithoutMessages("canceled", null, usage);
  const saved = shown ?? (await readCheckpoints(sql, turnId));
  const { reached, assistantMessageId } = stored;
  const answer = saved.length === 0 ? reached : await assembledAnswer(assistantMessageId, reached, saved);
  return keptOutcome(stored, answer, usage);
}

/** Reads what is stored of a turn; null when it is gone. */
export async function readKeptTurn(
  sql: AnySql,
  turnId: string,
): Promise<(KeptTurn & { readonly assistantMessageId: string; readonly reached: UiMessage | null }) | null> {
  const [row] = await sql<(KeptTurn & { assistantMessageId: string; reached: UiMessage | null })[]>`
    select /* turn.read_kept */ t.input, t.session_id, t.continuation_id, t.keep_seq, t.assistant_message_id,
      case when t.continuation_id is not null then coalesce(t.answer, m.content) end as reached
    from turns t
    left join messages m on t.keep_seq is null and m.session_id = t.session_id and m.id = t.assistant_message_id and m.role = 'assistant'
    where t.id = ${turnId}`;
  return row ?? null;
}

/** Returns a good outcome as that of a turn whose cancellation came before its commit, with everything kept that it said. */
export function keptInstead(outcome: TurnOutcome): TurnOutcome {
  const closed = (message: UiMessage) =>
    message.role === "assistant" ? closeParts(message, canceledCallText) : message;
  const { replaced, answer, preview, relayEvents } = outcome;
  const messages = [...outcome.messages, ...(answer === null ? [] : [answer])].map(closed);
  return {
    ...outcomeWithoutMessages("canceled", null, outcome.usage),
    messages,
    replaced: replaced === null ? null : closed(replaced),
    preview: answer === null ? preview : previewOf(answer),
    relayEvents,
  };
}
