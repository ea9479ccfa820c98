import { relayLag } from "../telemetry/metrics.ts";
import type { Batch } from "./relay.ts";

/** One batch of so many is measured: a histogram costs a twentieth of what a batch does. */
const everyNth = 8;
let arrived = 0;

/**
 * Measures how old a batch is when it arrives where it is followed, of every
 * eighth batch, however many chunks it has and readers follow it. Clocks of two
 * machines may differ by more than the relay takes; less than nothing is nothing.
 */
export function noteLag({ madeAtMs }: Batch): void {
  if (madeAtMs === undefined || arrived++ % everyNth !== 0) return;
  relayLag.observe(Math.max(0, Date.now() - madeAtMs) / 1000);
}
