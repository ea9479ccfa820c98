import type { LoadedAgent } from "../../agents/load.ts";
import type { IdOf } from "../../kernel/ids.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import type { ResponseFormat } from "../../model/response-format.ts";
import type { CallerOptions } from "./caller-options.ts";
import type { ClaimKey } from "./claim-key.ts";
import type { History } from "./history.ts";
import type { TurnKind } from "./turn.ts";
import type { ToolLeftOut, TurnStep } from "./turn-step.ts";

/** A claimed turn: what the worker needs to run it. */
export interface ClaimedTurn {
  readonly kind: TurnKind;
  /** Null: a stateless generation. */
  readonly sessionId: IdOf<"session"> | null;
  /** The continuation that this claim runs; null before the turn first stops to ask. */
  readonly continuationId: IdOf<"continuation"> | null;
  /** A regeneration keeps the transcript up to this place; null for any other turn. */
  readonly keepSeq: number | null;
  /** Whether other models than the agent's own may have answered. */
  readonly hasFallbacks: boolean;
  readonly id: IdOf<"turn">;
  readonly tenantId: IdOf<"tenant">;
  readonly agentId: IdOf<"agent">;
  readonly attempt: number;
  readonly agentVersion: number;
  /** The user's message, or all messages of a stateless generation; null for a regeneration. */
  readonly input: UiMessage | readonly UiMessage[] | null;
  readonly assistantMessageId: IdOf<"message">;
  readonly userId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly requestId: string | null;
  /** When this claim began, by the database's clock. */
  readonly claimedAt: Date;
  /** The steps that earlier claims made. */
  readonly steps: readonly TurnStep[];
  /** The tools that were left out of their requests. */
  readonly toolsLeftOut: readonly ToolLeftOut[];
  /** Seconds from the acceptance, or the end of its wait in the line of its session, to this claim, by the database's clock. */
  readonly waitedSeconds: number;
  /** The trace context of the request, when a trace is recorded. */
  readonly traceparent: string | null;
  /** The claim that began the turn log: an earlier one when the turn goes on where that was lost. */
  readonly logAttempt: number;
  /** Steps that have a checkpoint. */
  readonly stepsDone: number;
  /** Events of the turn log before the step that was under way. */
  readonly stepEvents: number;
  /** Events that lay before the tools of that step began; null: none can have. */
  readonly toolEvents: number | null;
  /** Model calls of the turn before this claim. */
  readonly modelCalls: number;
  /** What the answer has to fit; null: any text is one. */
  readonly responseFormat: ResponseFormat | null;
  /** What the request adds to the agent; null: nothing. */
  readonly callerOptions: CallerOptions | null;
  /** Input and output tokens of the turn before this claim. */
  readonly usedTokens: number;
  /** How long the turn ran before this claim, in milliseconds. */
  readonly runMs: number;
  /** The tokens that the tenant had left; null is unlimited. */
  readonly usageCredit: number | null;
  /** Whether the tenant had budgets, and whether one of tokens or money was used up for this turn. */
  readonly hasBudgets: boolean;
  readonly isOverBudget: boolean;
  /** How often the tenant has replaced its own prices of models; 0: it has none. */
  readonly pricesVersion: number;
  /** The answer of a regeneration as it was when the turn stopped to ask. */
  readonly answer: UiMessage | null;
  /** The agent as it was when the turn was claimed; null when it did not exist any more. */
  readonly agent: LoadedAgent | null;
  /** The session as the claim found it; null when it was too large for the claim and has to be read separately. */
  readonly history: History | null;
  /** Where that is null: what was read of it beside the claim (`readAhead`); null: nothing. */
  readonly ahead: Promise<History | null> | null;
}

/** Returns the key of a worker's own claim. */
export function claimKeyOf({ id, attempt, claimedAt }: Pick<ClaimedTurn, "id" | "attempt" | "claimedAt">): ClaimKey {
  return { turnId: id, attempt, claimedAt };
}

/** Returns whether a claim goes on where an earlier one was lost, after the turn's last completed step. */
export function goesOn({ stepsDone, logAttempt, attempt }: ResumableClaim): boolean {
  return stepsDone > 0 && logAttempt < attempt;
}

type ResumableClaim = Pick<ClaimedTurn, "stepsDone" | "logAttempt" | "attempt">;

/** The id of the turn log that holds a claim's chunks: the continuation that the claim runs, or else the turn. */
export function logIdOf(turn: Pick<ClaimedTurn, "id" | "continuationId">): string {
  return turn.continuationId ?? turn.id;
}
