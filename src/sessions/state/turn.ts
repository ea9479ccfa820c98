import type { LoadedAgent } from "../../agents/load.ts";
import type { ProviderType } from "../../kernel/config.ts";
import type { AnySql } from "../../kernel/database/client.ts";
import type { AskedApproval } from "../../messages/tool-calls.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { History } from "./history.ts";

/**
 * The state machine of a turn: every move is a guarded update, and zero rows
 * means that somebody else moved the turn first. A turn that stops to ask a
 * person goes on as a *continuation*, with a log of its own.
 *
 *     queued → running → succeeded | failed | canceled
 *                 ↓ asks        ↑
 *              waiting → queued → running …
 *
 * `claim.ts` has the claim, `finish.ts` the end, `requeue.ts` the way back, `logs.ts`
 * what followers see.
 */

export type TurnStatus = "queued" | "running" | "waiting" | "succeeded" | "failed" | "canceled";

/** The door a turn came through: a session over HTTP, a stateless generation, a task's run, a chat app. */
export type TurnKind = "session" | "generate" | "task" | "chat";

/** Why a turn failed, as its error chunk says it. */
export interface TurnError {
  readonly code: string;
  readonly message: string;
}

/** A claimed turn: what the worker needs to run it. */
export interface ClaimedTurn {
  readonly id: string;
  readonly tenantId: string;
  readonly agentId: string;
  readonly sessionId: string | null;
  readonly kind: TurnKind;
  /** The continuation this claim runs; null before the turn first stops to ask. */
  readonly continuationId: string | null;
  readonly attempt: number;
  readonly agentVersion: number;
  /** The user's message, or all messages of a stateless generation; null for a regeneration. */
  readonly input: UiMessage | readonly UiMessage[] | null;
  readonly keepSeq: number | null;
  readonly assistantMessageId: string;
  readonly userId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly requestId: string | null;
  /** Seconds from the acceptance to this claim, by the database's clock. */
  readonly waitedSeconds: number;
  /** The request's trace, when one is recorded. */
  readonly traceparent: string | null;
  /** Model calls of the turn before this claim. */
  readonly modelCalls: number;
  /** What a regeneration had answered when it stopped to ask. */
  readonly answer: UiMessage | null;
  /** The agent as it was when the turn was claimed; null when it was gone by then. */
  readonly agent: LoadedAgent | null;
  /** The session as the claim found it; null when that is too much for the claim and has to be read by itself. */
  readonly history: History | null;
}

/** The log that holds a claim's chunks is named after the turn, or the continuation it runs. */
export function logIdOf(turn: Pick<ClaimedTurn, "id" | "continuationId">): string {
  return turn.continuationId ?? turn.id;
}

/** What a claim used. */
export interface TurnUsage {
  readonly provider: string | null;
  readonly providerType: ProviderType | null;
  readonly model: string | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly modelCalls: number;
}

/** How a claim ended: the turn with it, or (`waiting`) the turn stops to ask. */
export interface TurnOutcome {
  readonly status: "succeeded" | "failed" | "canceled" | "waiting";
  readonly error: TurnError | null;
  readonly usage: TurnUsage;
  /** False when the worker is lost that alone knew what the claim used. */
  readonly usageKnown: boolean;
  /** Messages that join the transcript: what succeeded, or what was reached when the turn first stops to ask. */
  readonly messages: readonly UiMessage[];
  /** The answer as a continuation leaves it, in place of the one that was stored when it stopped to ask. */
  readonly replaced: UiMessage | null;
  /** Null leaves the session's as it is. */
  readonly preview: string | null;
  /** The answer of a stateless generation, or of a regeneration that stops to ask: it is not part of the transcript. */
  readonly answer: UiMessage | null;
  /** Events in the log once it is complete. */
  readonly relayEvents: number;
  readonly lastChunk: unknown;
  /** Of a turn that stops to ask. */
  readonly continuationId: string | null;
  readonly approvals: readonly AskedApproval[];
}

/** Names the claim an ending belongs to. */
export interface Fence {
  readonly turnId: string;
  readonly attempt: number;
  readonly statuses: readonly TurnStatus[];
  /** What is known of the claim: what cannot concern it is left out of the statement that ends it. */
  readonly claim?: Pick<ClaimedTurn, "sessionId" | "kind" | "continuationId" | "keepSeq">;
}

/** An outcome without messages: a turn that failed or was canceled, having used this much. */
export function badOutcome(
  status: "failed" | "canceled",
  error: TurnError | null,
  usage: Partial<TurnUsage> = {},
): TurnOutcome {
  return {
    status,
    error,
    usage: {
      provider: null,
      providerType: null,
      model: null,
      inputTokens: 0,
      outputTokens: 0,
      modelCalls: 0,
      ...usage,
    },
    usageKnown: true,
    messages: [],
    replaced: null,
    preview: null,
    answer: null,
    relayEvents: 0,
    lastChunk:
      status === "canceled" ? { type: "abort" } : { type: "error", errorText: error?.message ?? "The turn failed." },
    continuationId: null,
    approvals: [],
  };
}

/**
 * Notes that somebody may have seen something of this attempt, or that a tool
 * runs: from now on the turn is not run again. False when the claim is gone.
 */
export async function markShown(sql: AnySql, turnId: string, attempt: number): Promise<boolean> {
  const { count } = await sql`
    update turns set shown_at = coalesce(shown_at, now()) where id = ${turnId} and attempt = ${attempt} and status = 'running'`;
  return count > 0;
}

/** The turn that runs, or waits to run, in a session; null when it is idle. */
export async function activeTurn(sql: AnySql, sessionId: string): Promise<ActiveTurn | null> {
  const [row] = await sql<{ id: string; continuation_id: string | null; status: TurnStatus }[]>`
    select id, continuation_id, status from turns
    where session_id = ${sessionId} and status in ('queued', 'running', 'waiting')`;
  return row === undefined ? null : { id: row.id, continuationId: row.continuation_id, status: row.status };
}

/** A session's turn that has not ended. */
export interface ActiveTurn {
  readonly id: string;
  readonly continuationId: string | null;
  readonly status: TurnStatus;
}

/** The message a turn answered with: from the transcript, or the stateless answer. Null while there is none. */
export async function answerOf(sql: AnySql, turnId: string): Promise<UiMessage | null> {
  const [row] = await sql<{ content: UiMessage | null }[]>`
    select coalesce(t.answer, m.content) as content from turns t
    left join messages m on m.session_id = t.session_id and m.id = t.assistant_message_id and m.role = 'assistant'
    where t.id = ${turnId}`;
  return row?.content ?? null;
}
