import type { UIMessageChunk } from "ai";
import type { RelayWriter } from "../../kernel/relay/writer.ts";
import type { ClaimUsage } from "./claim-usage.ts";
import type { OutputGate } from "./output-gate.ts";
import type { RunningTurn } from "./running-turns.ts";
import type { StepLog } from "./step-log.ts";

/** What of a claim concerns its checkpoints. */
interface CheckpointedClaim {
  readonly running: RunningTurn;
  readonly writer: RelayWriter;
  readonly gate: OutputGate;
  readonly usage: ClaimUsage;
  readonly steps: StepLog;
}

/**
 * The checkpoints of a claim: one is written after each step that another model call follows,
 * once all of that step was sent to its readers, and the next call waits until they have it
 * (docs/workers.md, "Going on"). A turn of one step costs none.
 */
export class ClaimCheckpoints {
  readonly #claim: CheckpointedClaim;
  #done: number;

  constructor(claim: CheckpointedClaim) {
    this.#claim = claim;
    this.#done = claim.running.turn.stepsDone;
  }

  /** Whether the turn has completed a step, so that it goes on when this claim is lost. */
  get any(): boolean {
    return this.#done > 0;
  }

  /** Writes a completed step, and stops the claim where its worker drains. Throws when Postgres is away for too long. */
  async afterStep(chunks: readonly UIMessageChunk[]): Promise<void> {
    const { running, writer, gate, usage, steps } = this.#claim;
    await writer.sent();
    if (running.stop.signal.aborted) return;
    const { firstTextAt, toolsLeftOut } = steps;
    const record = { steps: steps.steps, firstTextAt, toolsLeftOut };
    const written = usage.writeStep(this.#done, { chunks, events: writer.written, record });
    await Promise.all([writer.flush(), written]);
    this.#done += 1;
    gate.nextStep();
    if (running.isHandedOver() && !running.stop.signal.aborted) running.stop.abort("drained");
  }
}
