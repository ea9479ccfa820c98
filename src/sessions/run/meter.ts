import { turnDuration, turnFirstChunk, turnQueueWait } from "../../kernel/telemetry/metrics.ts";
import type { OpenSpan, SpanFields } from "../../kernel/telemetry/trace.ts";
import { type ClaimedTurn, goesOn } from "../state/claimed-turn.ts";
import type { TurnOutcome } from "../state/turn-end.ts";

/** Returns a claim's span, which belongs to the trace of the request that asked for the turn. */
export function claimSpan(turn: ClaimedTurn): SpanFields {
  return {
    kind: "consumer",
    parent: turn.traceparent,
    attributes: {
      "parley.turn.id": turn.id,
      "parley.turn.attempt": turn.attempt,
      "parley.turn.kind": turn.kind,
      "parley.turn.queue_wait_ms": Math.round(turn.waitedSeconds * 1000),
      "parley.tenant.id": turn.tenantId,
      "gen_ai.agent.id": turn.agentId,
      ...(turn.sessionId === null ? {} : { "gen_ai.conversation.id": turn.sessionId }),
      ...(turn.requestId === null ? {} : { "parley.request.id": turn.requestId }),
      ...(turn.continuationId === null ? {} : { "parley.continuation.id": turn.continuationId }),
    },
  };
}

/**
 * Measures one claim of a turn. The wait in the queue is by the database's clock,
 * all after it by this process's, so that no two clocks are compared. Nothing
 * here runs per chunk.
 */
export class ClaimMeter {
  readonly #turn: ClaimedTurn;
  readonly #span: OpenSpan;
  readonly #claimedAtMs = performance.now();

  constructor(turn: ClaimedTurn, span: OpenSpan) {
    this.#turn = turn;
    this.#span = span;
    if (this.#fromAcceptance) turnQueueWait.observe(turn.waitedSeconds);
  }

  /** False for a continuation: between its acceptance and its claim a person decided, which is no delay of the service. False for a turn that goes on: it had begun. */
  get #fromAcceptance(): boolean {
    return this.#turn.continuationId === null && !goesOn(this.#turn);
  }

  get #seconds(): number {
    return (performance.now() - this.#claimedAtMs) / 1000;
  }

  noteFirstChunk(): void {
    if (this.#fromAcceptance) turnFirstChunk.observe(this.#turn.waitedSeconds + this.#seconds);
    this.#span.event("first chunk");
  }

  /** The outcome is committed. */
  noteEnd({ status, error }: Pick<TurnOutcome, "status" | "error">): void {
    turnDuration.observe({ outcome: status }, this.#seconds);
    this.#span.set({ "parley.turn.outcome": status });
    if (status === "failed") this.#span.fail(error?.code ?? "internal");
  }
}
