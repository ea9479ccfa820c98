import { relayLag } from "../metrics.ts";
import type { Batch } from "./relay.ts";

/**
 * Measures how old a batch is when it arrives where it is followed: once a batch
 * and process, however many chunks it has and readers follow it. Clocks of two
 * machines may differ by more than the relay takes; less than nothing is nothing.
 */
export function noteLag({ madeAtMs }: Batch): void {
  if (madeAtMs !== undefined) relayLag.observe(Math.max(0, Date.now() - madeAtMs) / 1000);
}
