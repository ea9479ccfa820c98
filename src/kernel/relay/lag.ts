import { relayLag } from "../telemetry/metrics.ts";
import type { Batch } from "./relay.ts";

/** One of this many batches is measured: an observation of a histogram costs a twentieth of what a batch does. */
const everyNth = 8;
let arrived = 0;

/**
 * Measures how old a batch is when it arrives at a process that follows its log, for
 * every eighth batch, however many chunks and readers it has. The clocks of two
 * machines may differ by more than the relay takes; a negative age counts as 0.
 */
export function noteLag({ madeAtMs }: Batch): void {
  if (madeAtMs === undefined || arrived++ % everyNth !== 0) return;
  relayLag.observe(Math.max(0, Date.now() - madeAtMs) / 1000);
}
