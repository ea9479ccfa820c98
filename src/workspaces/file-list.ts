import { SharedSlots } from "../kernel/async/shared-slots.ts";
import { type FileEntry, listWorkspaceFiles } from "./files.ts";
import { inSlot } from "./in-slot.ts";
import { fileListsMax, fileListsPerTenantMax } from "./limits.ts";
import type { WorkspaceScope } from "./scope.ts";
import { neverAborted } from "./shell/host.ts";
import { requireWorkspace } from "./store.ts";

/** Shared by the whole process, so that the lists of one tenant leave connections and time to the others. */
const lists = new SharedSlots(fileListsMax, fileListsPerTenantMax);

/**
 * Returns what `work` makes of the list of a workspace's files (`under`: only those of one
 * folder), which is read once its turn has come. Throws 404 `workspace_not_found`, 409
 * `workspace_delete_conflict`, `ToolError` when its turn has not come in time, the
 * signal's reason, and what `work` throws.
 */
export async function withFileList<T>(
  { ctx: { sql }, tenantId, workspaceId }: WorkspaceScope,
  { under, signal = neverAborted }: { readonly under: string; readonly signal: AbortSignal | undefined },
  work: (files: readonly FileEntry[]) => T | Promise<T>,
): Promise<T> {
  return inSlot(lists, { tenantId, signal }, async () => {
    await requireWorkspace(sql, tenantId, workspaceId);
    return work(await listWorkspaceFiles(sql, workspaceId, under));
  });
}
