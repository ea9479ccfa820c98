import type { SharedSlots } from "../kernel/async/shared-slots.ts";
import { ToolError } from "../tools/error.ts";
import { processWaitMs } from "./limits.ts";

/**
 * Waits `processWaitMs` at most for a slot of a tenant's share, and returns the function
 * that releases it. Throws `ToolError` when none became free in time, and the signal's reason.
 */
export async function takeSlot(slots: SharedSlots, tenantId: string, signal: AbortSignal): Promise<() => void> {
  const limit = AbortSignal.timeout(processWaitMs);
  try {
    return await slots.take(tenantId, AbortSignal.any([signal, limit]));
  } catch (error) {
    if (limit.aborted && !signal.aborted) throw new ToolError("Too many commands run at the moment; try again later.");
    throw error;
  }
}
