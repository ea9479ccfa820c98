import type { ProviderType } from "../../kernel/config.ts";
import type { IdOf } from "../../kernel/ids.ts";
import type { ClientCall, PendingCall } from "../../messages/tool-calls.ts";
import type { UiMessage } from "../../messages/ui-message.ts";
import { type Cost, noCost, noTokens, type TokenCounts } from "../../usage/tokens.ts";
import type { TurnRecord } from "./turn-step.ts";

/** Why a turn failed, as its error chunk says it. */
export interface TurnError {
  readonly code: string;
  readonly message: string;
  /** The budget that was used up, and when it is whole again; null: never by itself. */
  readonly budget?: { readonly id: IdOf<"budget">; readonly resetsAt: string | null };
}

/** What a claim used by one model. */
export interface ModelUsage extends TokenCounts, Cost {
  readonly provider: string | null;
  readonly providerType: ProviderType | null;
  readonly model: string;
  readonly estimated: boolean;
}

/** What a claim used. */
export interface TurnUsage extends TokenCounts, Cost {
  readonly provider: string | null;
  readonly providerType: ProviderType | null;
  readonly model: string | null;
  readonly modelCalls: number;
  /** Whether a part of it was estimated. */
  readonly estimated: boolean;
  /** What of it other models than `model` used: those that answered where it failed. */
  readonly others: readonly ModelUsage[];
}

/** Nothing was used. */
export const noUsage: TurnUsage = {
  provider: null,
  providerType: null,
  model: null,
  ...noTokens,
  ...noCost,
  modelCalls: 0,
  estimated: false,
  others: [],
};

/** How a claim ended: the turn ended with it, or (`waiting`) the turn stops to ask. */
export interface TurnOutcome {
  readonly status: "succeeded" | "failed" | "canceled" | "waiting";
  readonly error: TurnError | null;
  /** What the turn's row does not have yet. */
  readonly usage: TurnUsage;
  /** False when only a worker that is lost knew what the claim used: then `usage` is no more than an estimate. */
  readonly usageKnown: boolean;
  /**
   * Messages that are appended to the transcript: those of a success, those up to where the
   * turn first stops to ask, or what is kept of a turn that had to end.
   */
  readonly messages: readonly UiMessage[];
  /** The answer as a continuation leaves it, in place of the one that was stored when it stopped to ask. */
  readonly replaced: UiMessage | null;
  /** Null leaves the session's preview as it is. */
  readonly preview: string | null;
  /** The answer of a stateless generation, or of a regeneration that stops to ask: it is not part of the transcript. */
  readonly answer: UiMessage | null;
  /** Events in the turn log once it is complete; null where another process than its worker ends it, which does not know. */
  readonly relayEvents: number | null;
  readonly lastChunk: unknown;
  /** The new continuation of a turn that stops to ask. */
  readonly continuationId: IdOf<"continuation"> | null;
  /** The approvals that a turn which stops to ask waits for. */
  readonly approvals: readonly PendingCall[];
  /** The calls of client tools that it waits for. */
  readonly clientCalls: readonly ClientCall[];
  /** What its worker knows of the steps; null leaves what the row has. */
  readonly record: TurnRecord | null;
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
