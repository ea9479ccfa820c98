import type { AnySql, Tx } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";
import type { ToolWrite } from "../../tools/tool.ts";
import type { WriteAllowance } from "../allowance.ts";
import { writeWorkspaceFiles } from "../files.ts";
import { pathProblem } from "../path-rules.ts";
import type { CommandResult } from "../runtime.ts";
import { withWorkspace } from "../store.ts";
import { hasLease } from "./lease.ts";
import type { Snapshot } from "./snapshot.ts";

/** The outcome of a command, as its caller is told. */
export type CommandOutcome = Omit<CommandResult, "changes">;

/** The workspace that a command has changed, and who writes that down. */
export interface KeepScope {
  readonly sql: AnySql;
  readonly write: ToolWrite;
  readonly tenantId: string;
  readonly workspaceId: string;
  /** Whose artifacts the written files are. */
  readonly sessionId: string | null;
  readonly allowance: WriteAllowance;
  /** The lease under which the command ran; null where it needs none. */
  readonly lease: string | null;
}

/** What a command used: files that it read as far as that is known, beside those that it wrote. */
interface Used {
  readonly before: Snapshot;
  readonly read: ReadonlySet<string>;
}

/**
 * Writes what a command changed in one transaction, and returns its outcome; `overtaken`, and nothing is written, when another writer
 * changed a file that it used. `kept` is told the revisions of the written files.
 */
export async function keepChanges(
  scope: KeepScope,
  { before, read }: Used,
  { changes, ...shown }: CommandResult,
  kept: (revisions: ReadonlyMap<string, number>) => Promise<void>,
): Promise<CommandOutcome | "overtaken"> {
  const { writes, deletes, foldersMade, foldersGone } = changes;
  const changed = writes.length + deletes.length + foldersMade.length + foldersGone.length > 0;
  // The process has checked its paths, but it runs untrusted commands: they are checked again.
  const odd = [...writes.map(({ path }) => path), ...foldersMade].find((path) => pathProblem(path) !== null);
  if (odd !== undefined) return { ...shown, exitCode: 1, notes: [...shown.notes, "No file was changed."] };
  const used = [...new Set([...read, ...writes.map(({ path }) => path), ...deletes])];
  const revisions = new Map(before.files.map(({ path, revision }) => [path, revision]));
  if (!changed && used.length === 0) return shown;
  if (!changed) return (await isAsBefore(scope.sql, scope.workspaceId, used, revisions)) ? shown : "overtaken";
  scope.allowance.take(writes.reduce((sum, { content }) => sum + content.byteLength, 0));
  let written: ReadonlyMap<string, number> = new Map();
  try {
    const commit = async (inner: Tx) => {
      const { workspaceId, sessionId, lease } = scope;
      if (lease !== null && !(await hasLease(inner, workspaceId, lease))) return "overtaken";
      if (!(await isAsBefore(inner, workspaceId, used, revisions))) return "overtaken";
      if (deletes.length > 0)
        await inner`delete from workspace_files where workspace_id = ${workspaceId} and path = any(${deletes as string[]})`;
      if (foldersGone.length > 0)
        await inner`delete from workspace_folders where workspace_id = ${workspaceId} and path = any(${foldersGone as string[]})`;
      written = await writeWorkspaceFiles(inner, workspaceId, sessionId, writes);
      if (foldersMade.length > 0)
        await inner`
          insert into workspace_folders (workspace_id, path)
          select ${workspaceId}, made.path from unnest(${foldersMade as string[]}::text[]) as made (path)
          on conflict do nothing`;
      return shown;
    };
    const outcome = await scope.write((inner) => withWorkspace(inner, scope.tenantId, scope.workspaceId, commit));
    if (outcome !== "overtaken") await kept(written);
    return outcome;
  } catch (error) {
    // The workspace's limits, or a file in place of a folder that another writer created in the meantime.
    if (!(error instanceof ApiError) || !isFileFault(error)) throw error;
    return { ...shown, exitCode: shown.exitCode || 1, notes: [...shown.notes, error.message, "No file was changed."] };
  }
}

function isFileFault({ reason }: ApiError): boolean {
  if (reason === "quota_exceeded") return true;
  return reason === "invalid_request" || reason === "validation_failed" || reason === "payload_too_large";
}

async function isAsBefore(
  sql: AnySql,
  workspaceId: string,
  paths: readonly string[],
  before: ReadonlyMap<string, number>,
): Promise<boolean> {
  if (paths.length === 0) return true;
  const now = await revisionsOf(sql, workspaceId, paths);
  return paths.every((path) => now.get(path) === before.get(path));
}

async function revisionsOf(sql: AnySql, workspaceId: string, paths: readonly string[]): Promise<Map<string, number>> {
  const rows = await sql<{ path: string; revision: number }[]>`
    select path, revision from workspace_files where workspace_id = ${workspaceId} and path = any(${paths as string[]})`;
  return new Map(rows.map(({ path, revision }) => [path, revision]));
}
