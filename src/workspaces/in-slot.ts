import type { SharedSlots } from "../kernel/async/shared-slots.ts";
import { ToolError } from "../tools/error.ts";
import { processWaitMs } from "./limits.ts";

/**
 * Waits `processWaitMs` at most for a slot of a tenant's share, and holds it for `work`; returns
 * what that returns. Throws `ToolError` when no slot became free in time, the signal's
 * reason, and what `work` throws.
 */
export async function inSlot<T>(
  slots: SharedSlots,
  { tenantId, signal }: { readonly tenantId: string; readonly signal: AbortSignal },
  work: () => Promise<T>,
): Promise<T> {
  const limit = AbortSignal.timeout(processWaitMs);
  const release = await slots.take(tenantId, AbortSignal.any([signal, limit])).catch((error: unknown) => {
    if (limit.aborted && !signal.aborted) throw new ToolError("Too many commands run at the moment; try again later.");
    throw error;
  });
  return work().finally(release);
}
