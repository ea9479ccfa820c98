import type { Ctx } from "../kernel/context.ts";
import type { AnySql, Sql, Tx } from "../kernel/database/client.ts";
import { paced } from "../kernel/database/pace.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import { eraseResponses } from "../kernel/http/erase-keys.ts";
import { addJob, addJobSql } from "../kernel/queue/add-job.ts";
import type { JobPayloads } from "../kernel/queue/catalogue.ts";
import { bytesDeletedAtOnceMax, filesDeletedAtOnceMax } from "./limits.ts";

/** Files that one statement deletes: at 10 MiB each, still far below a statement's time limit. */
const filesPerBatch = 100;

/**
 * Deletes a workspace with all files, and returns whether it is deleted or being deleted:
 *
 *     ready ──few files──▶ (deleted)
 *     ready ──many files─▶ deleting ──job `workspace.purge`──▶ (deleted)
 *
 * A workspace that is `deleting` can be read, but neither used nor changed. Throws 404 `workspace_not_found`, 409
 * `workspace_in_use` while an agent has it.
 */
export function deleteWorkspace(sql: AnySql, tenantId: string, id: string): Promise<"deleted" | "deleting"> {
  return tx(sql, async (inner) => {
    // Attaching it to an agent and writing a file take this lock too.
    const [row] = await inner<{ status: string }[]>`
      select status from workspaces where id = ${id} and tenant_id = ${tenantId} for update`;
    if (row === undefined) throw new ApiError("workspace_not_found");
    if (row.status === "deleting") return "deleting";
    const [user] = await inner`select 1 from agents where workspace_id = ${id} limit 1`;
    if (user !== undefined) throw new ApiError("workspace_in_use");
    const [held] = await inner<{ files: number; bytes: number }[]>`
      select count(*)::int as files, coalesce(sum(size), 0)::bigint as bytes from workspace_files where workspace_id = ${id}`;
    if ((held?.files ?? 0) <= filesDeletedAtOnceMax && (held?.bytes ?? 0) <= bytesDeletedAtOnceMax) {
      await inner`delete from workspace_files where workspace_id = ${id}`;
      await inner`delete from workspace_folders where workspace_id = ${id}`;
      await inner`delete from workspaces where id = ${id}`;
      await eraseResponses(inner, [id]);
      return "deleted";
    }
    await inner`update workspaces set status = 'deleting', updated_at = clock_timestamp() where id = ${id}`;
    await addJob(inner, "workspace.purge", { workspaceId: id, tenantId });
    return "deleting";
  });
}

/**
 * The job `workspace.purge`: removes the files of a workspace that is being
 * deleted, in batches, then the workspace. Safe to repeat; does nothing to a
 * workspace in any other state.
 */
export function purgeWorkspace({ sql }: Pick<Ctx, "sql">, payload: JobPayloads["workspace.purge"]): Promise<void> {
  const { workspaceId } = payload;
  return paced(
    async (pace) => {
      await eraseResponses(sql, [workspaceId], pace);
      while (await purgeFiles(sql, workspaceId)) pace.step();
      await tx(sql, async (inner) => {
        const [row] =
          await inner`select 1 from workspaces where id = ${workspaceId} and status = 'deleting' for update`;
        if (row === undefined) return;
        await inner`delete from workspace_folders where workspace_id = ${workspaceId}`;
        await inner`delete from workspaces where id = ${workspaceId}`;
      });
    },
    () => addJob(sql, "workspace.purge", payload, { keySuffix: ":on" }),
  );
}

/** Marks a tenant's workspaces as being deleted, with their jobs. No agent may have one any more. */
export async function purgeWorkspaces(inner: Tx, tenantId: string): Promise<void> {
  const job = addJobSql(inner, "workspace.purge", { workspaceId: inner`id`, tenantId: inner`tenant_id` });
  await inner`
    with gone as (
      update workspaces set status = 'deleting', updated_at = clock_timestamp()
      where tenant_id = ${tenantId} and status = 'ready' returning id, tenant_id
    )
    select (${job}).id from gone`;
}

/** Removes one batch of files. Returns whether there was any. */
async function purgeFiles(sql: Sql, workspaceId: string): Promise<boolean> {
  const { count } = await sql`
    delete from workspace_files f using workspaces w
    where w.id = f.workspace_id and w.id = ${workspaceId} and w.status = 'deleting' and f.path in (
      select path from workspace_files where workspace_id = ${workspaceId} limit ${filesPerBatch})`;
  return count > 0;
}
