import type { TokenCounts } from "../../usage/tokens.ts";

/**
 * The record of a turn's steps, as `turns.steps` holds it and `GET /v1/turns/:turnId`
 * shows it: times and names, no content but
 * what vendors said of failures. Moments are RFC 3339 by the database's clock.
 */

/**
 * How a tool call stands. `waiting`: for a person or the caller. `canceled`: the turn
 * ended before the call had a result.
 */
export const stepCallStatuses = ["running", "waiting", "succeeded", "failed", "denied", "canceled"] as const;
export type StepCallStatus = (typeof stepCallStatuses)[number];

/** A tool call of a step. */
export interface StepCall {
  readonly toolCallId: string;
  readonly tool: string;
  readonly status: StepCallStatus;
  /** When it began to run; of one that never ran, when the model made it. */
  readonly startedAt: string;
  /** Null while it has no result. */
  readonly finishedAt: string | null;
}

/** A request to a model that failed, in the words of its vendor, without credentials (`src/model/vendor-failure.ts`). */
export interface StepFailure {
  readonly providerId: string;
  readonly model: string;
  /** Null where no response came. */
  readonly status: number | null;
  readonly code: string | null;
  readonly message: string;
  readonly requestId: string | null;
  readonly at: string;
  /** It is why the turn failed. */
  readonly endedTurn?: true;
}

/** A step: a model call, with the requests that were repeated, and the tools it called. */
export interface TurnStep extends TokenCounts {
  /** From 0. */
  readonly index: number;
  readonly startedAt: string;
  /** Null while it is under way. */
  readonly finishedAt: string | null;
  /** The provider's id; null for the operator's own. */
  readonly provider: string | null;
  readonly model: string;
  readonly toolCalls: readonly StepCall[];
  /** Absent where no request failed, and of the operator's own provider. */
  readonly failures?: readonly StepFailure[];
}

/** A tool that a vendor was not offered, by the name that the model has for it, and why. */
export interface ToolLeftOut {
  readonly tool: string;
  readonly reason: string;
}

/** What a claim adds to the record of its turn. */
export interface TurnRecord {
  /** All steps of the turn, those of earlier claims included. */
  readonly steps: readonly TurnStep[];
  /** When this claim showed its first text; null: none. */
  readonly firstTextAt: Date | null;
  /** The tools that were left out of any request of the turn. */
  readonly toolsLeftOut: readonly ToolLeftOut[];
}
