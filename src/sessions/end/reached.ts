import type { UIMessageChunk } from "ai";
import type { AnySql } from "../../kernel/database/client.ts";
import type { IdOf } from "../../kernel/ids.ts";
import { withFinishReason } from "../../messages/finish-reason.ts";
import { storable } from "../../messages/text.ts";
import {
  type CallDecision,
  type ClientCall,
  clientCalls,
  type PendingCall,
  pendingCalls,
  withDecisions,
} from "../../messages/tool-calls.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import { Assembly } from "../../model/assembly.ts";
import type { ModelResult } from "../../model/run-model.ts";
import type { CancelKeep } from "../state/cancel-request.ts";
import { readCheckpoints } from "../state/checkpoint.ts";

/**
 * How far a turn has come: by its model's result, by the chunks that its readers have, or by what is stored of it.
 * `outcome.ts` says what an end keeps of that.
 */

/** Of a turn, what decides where its answer goes. */
export interface EndingTurn {
  /** Null: a stateless generation, of which no message is kept. */
  readonly sessionId: string | null;
  readonly continuationId: string | null;
  readonly keepSeq: number | null;
  readonly input: UiMessage | readonly UiMessage[] | null;
}

/** What a turn has reached. */
export interface Reached {
  /** Its answer, with what is open in it; null: nothing. */
  readonly message: UiMessage | null;
  /** The chunk that ends the stream of a model that finished. */
  readonly lastChunk?: unknown;
  /** What the answer of a model that finished waits for. */
  readonly waitsFor?: { readonly approvals: readonly PendingCall[]; readonly clientCalls: readonly ClientCall[] };
  /** Whether tools of the step that was under way may have run; no when left out. */
  readonly mayHaveRun?: boolean;
  /** The message before the turn's own in the transcript, where it has some. */
  readonly before?: UiMessage | null;
}

/** Nothing. */
export const reachedNothing: Reached = { message: null };

/** What a model was asked with, as far as it matters here. */
interface Asked {
  /** The answer that a continuation extends, decisions included; null for a new one. */
  readonly extended: UiMessage | null;
  readonly tools: readonly { readonly name: string; readonly source: { readonly kind: string } }[];
}

/** Returns what a model that finished has reached; `canWait` says whether its calls may wait for somebody. */
export function reachedByAnswer({ tools }: Asked, result: ModelResult, canWait: boolean): Reached {
  const { message, lastChunk } = withFinishReason(storable(result.message), result.lastChunk);
  if (!canWait) return { message, lastChunk };
  const names = new Set(tools.flatMap(({ name, source }) => (source.kind === "client" ? [name] : [])));
  return {
    message,
    lastChunk,
    waitsFor: { approvals: pendingCalls(message), clientCalls: clientCalls(message, names) },
  };
}

/** Returns whether the answer of a model that finished waits for a person, or for the caller. */
export function waits({ waitsFor }: Reached): boolean {
  return waitsFor !== undefined && waitsFor.approvals.length + waitsFor.clientCalls.length > 0;
}

/** Returns what a model has reached that was stopped, or failed. Its message has all of the answer once it has begun. */
export function reachedByModel({ extended }: Pick<Asked, "extended">, { message }: ModelResult): Reached {
  return { message: extended !== null && message.parts.length < extended.parts.length ? extended : message };
}

/** What is stored of a turn that has not ended. */
export interface StoredTurn extends EndingTurn {
  readonly assistantMessageId: IdOf<"message">;
  /** The answer that its continuation extends, decisions included; null for a new one. */
  readonly extended: UiMessage | null;
  readonly before: UiMessage | null;
  readonly mayHaveRun: boolean;
  /** What the first caller that cancelled it wants to keep. */
  readonly keep: CancelKeep;
  /** Whether somebody has asked it to stop. */
  readonly isToStop: boolean;
}

/** Reads what is stored of a turn; null when it is gone. */
export async function readStored(sql: AnySql, turnId: string): Promise<StoredTurn | null> {
  const [row] = await sql<(StoredTurn & { stored: UiMessage | null; decisions: CallDecision[] })[]>`
    select /* turn.read_reached */ t.session_id, t.continuation_id, t.keep_seq, t.input, t.assistant_message_id, t.tool_events is not null as may_have_run,
      coalesce(t.cancel_keep, 'nothing') as keep, t.cancel_requested_at is not null as is_to_stop,
      case when t.continuation_id is not null then coalesce(t.answer, m.content) end as stored,
      case when t.continuation_id is not null then (
        select content from messages b where b.session_id = t.session_id and b.turn_id <> t.id order by seq desc limit 1
      ) end as before,
      coalesce((
        select json_agg(json_build_object('toolCallId', a.tool_call_id, 'approved', a.status = 'approved', 'reason', a.reason))
        from approvals a where a.continuation_id = t.continuation_id and a.status <> 'pending'
      ), '[]') as decisions
    from turns t left join messages m on m.session_id = t.session_id and m.id = t.assistant_message_id and m.role = 'assistant'
    where t.id = ${turnId}`;
  if (row === undefined) return null;
  const { stored, decisions, ...turn } = row;
  return { ...turn, extended: stored === null ? null : withDecisions(stored, decisions) };
}

/**
 * Returns what a turn has reached by these chunks, since it began or last stopped to ask; by those of its
 * completed steps (`readCheckpoints`) where no others are known.
 */
export async function reachedByChunks(turn: StoredTurn, chunks: readonly UIMessageChunk[]): Promise<Reached> {
  const { assistantMessageId, extended, before, mayHaveRun } = turn;
  const message = chunks.length === 0 ? extended : await assembledAnswer(assistantMessageId, extended, chunks);
  return { message, before, mayHaveRun };
}

/** Returns what a turn that no worker has is known to have reached: `shown` is what its readers have, where that is known. */
export async function reachedAsStored(
  sql: AnySql,
  turnId: string,
  turn: StoredTurn,
  shown: readonly UIMessageChunk[] | null = null,
): Promise<Reached> {
  return reachedByChunks(turn, shown ?? (await readCheckpoints(sql, turnId)));
}

/** Returns the answer that chunks make, beyond the one that they go on with. */
export function assembledAnswer(
  messageId: string,
  extended: UiMessage | null,
  chunks: readonly UIMessageChunk[],
): Promise<UiMessage> {
  const answer = new Assembly(messageId, extended === null ? null : structuredClone(extended));
  for (const chunk of chunks) answer.add(chunk);
  return answer.message();
}
