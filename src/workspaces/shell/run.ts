import type { AnySql, Sql, Tx } from "../../kernel/database/client.ts";
import { ApiError } from "../../kernel/errors.ts";
import type { ToolWrite } from "../../tools/tool.ts";
import type { WriteAllowance } from "../allowance.ts";
import { writeWorkspaceFiles } from "../files.ts";
import { commandMs, rerunsMax } from "../limits.ts";
import { pathProblem } from "../path-rules.ts";
import { requireWorkspace, withWorkspace } from "../store.ts";
import { JobCutError, runJob, withJobSlot } from "./host.ts";
import type { CommandResult, StoredFile } from "./protocol.ts";
import { Queues } from "./queues.ts";

/** The tenant, workspace and session that a command runs for. */
export interface CommandScope {
  readonly sql: Sql;
  readonly write: ToolWrite;
  readonly tenantId: string;
  readonly workspaceId: string;
  /** Whose artifacts the written files are. */
  readonly sessionId: string | null;
  readonly allowance: WriteAllowance;
}

/** The outcome of a command. */
export interface CommandOutcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  readonly notes: readonly string[];
}

/**
 * Commands of one workspace that are run again, because another writer changed their
 * files, run one after the other.
 */
const reruns = new Queues();

/** The exit code of a command that exceeded its time limit. */
const timedOutExitCode = 124;

/**
 * Runs a shell command over a workspace's files, stores what it wrote, all or nothing,
 * and returns its outcome. A command that read or replaced a file which another writer
 * changed in the meantime is run again on the current files: files are its only effects,
 * so running it again loses nothing. Throws 404 `workspace_not_found`, 409
 * `workspace_delete_conflict`, the signal's reason.
 */
export async function runShell(scope: CommandScope, command: string, signal: AbortSignal): Promise<CommandOutcome> {
  const startedAtMs = Date.now();
  const first = await attempt(scope, command, signal);
  if (first !== "overtaken") return first;
  return reruns.run(scope.workspaceId, async () => {
    for (let rerun = 0; rerun < rerunsMax && Date.now() - startedAtMs < 2 * commandMs; rerun += 1) {
      const outcome = await attempt(scope, command, signal);
      if (outcome !== "overtaken") return outcome;
    }
    return nothingKept("the workspace's files kept changing under it", 1);
  });
}

async function attempt(
  scope: CommandScope,
  command: string,
  signal: AbortSignal,
): Promise<CommandOutcome | "overtaken"> {
  const { sql, tenantId, workspaceId } = scope;
  const read = new Set<string>();
  const fetch = (paths: readonly string[]) => {
    for (const path of paths) read.add(path);
    return readContents(sql, workspaceId, paths);
  };
  try {
    const { revisions, result } = await withJobSlot(tenantId, signal, async () => {
      await requireWorkspace(sql, tenantId, workspaceId);
      const { files, folders, revisions } = await snapshot(sql, workspaceId);
      const job = { kind: "command", command, files, folders } as const;
      return { revisions, result: await runJob(job, { fetch, signal }) };
    });
    signal.throwIfAborted();
    return await keep(scope, revisions, read, result);
  } catch (error) {
    if (error instanceof JobCutError) return nothingKept(error.message, timedOutExitCode);
    throw error;
  }
}

function nothingKept(reason: string, exitCode: number): CommandOutcome {
  return { stdout: "", stderr: "", exitCode, notes: [reason, "No file was changed."] };
}

type Revisions = ReadonlyMap<string, number>;

async function snapshot(sql: Sql, workspaceId: string) {
  const [rows, folders] = await Promise.all([
    sql<{ path: string; size: number; executable: boolean; revision: number; updatedAt: Date }[]>`
      select path, size, executable, revision, updated_at from workspace_files
      where workspace_id = ${workspaceId} order by path`,
    sql<{ path: string }[]>`select path from workspace_folders where workspace_id = ${workspaceId} order by path`,
  ]);
  const files: StoredFile[] = rows.map(({ path, size, executable, updatedAt }) => ({
    path,
    size,
    executable,
    mtimeMs: updatedAt.getTime(),
  }));
  const revisions: Revisions = new Map(rows.map(({ path, revision }) => [path, revision]));
  return { files, folders: folders.map(({ path }) => path), revisions };
}

/** Returns the contents of files, in the order of `paths`; null for one that no longer exists. */
export async function readContents(
  sql: AnySql,
  workspaceId: string,
  paths: readonly string[],
): Promise<(Uint8Array | null)[]> {
  const rows = await sql<{ path: string; content: Buffer }[]>`
    select path, content from workspace_files where workspace_id = ${workspaceId} and path = any(${paths as string[]})`;
  const contents = new Map(rows.map(({ path, content }) => [path, content]));
  return paths.map((path) => contents.get(path) ?? null);
}

/** Writes what a command changed in one transaction, unless another writer changed a file it used. */
async function keep(
  scope: CommandScope,
  before: Revisions,
  read: ReadonlySet<string>,
  { changes, ...shown }: CommandResult,
): Promise<CommandOutcome | "overtaken"> {
  const { writes, deletes, foldersMade, foldersGone } = changes;
  const changed = writes.length + deletes.length + foldersMade.length + foldersGone.length > 0;
  // The process has checked its paths, but it runs untrusted commands: they are checked again.
  const odd = [...writes.map(({ path }) => path), ...foldersMade].find((path) => pathProblem(path) !== null);
  if (odd !== undefined) return { ...shown, exitCode: 1, notes: [...shown.notes, "No file was changed."] };
  const touched = [...new Set([...read, ...writes.map(({ path }) => path), ...deletes])];
  if (!changed && touched.length === 0) return shown;
  if (!changed) return (await isAsBefore(scope.sql, scope.workspaceId, touched, before)) ? shown : "overtaken";
  scope.allowance.take(writes.reduce((sum, { content }) => sum + content.byteLength, 0));
  try {
    const commit = async (inner: Tx) => {
      if (!(await isAsBefore(inner, scope.workspaceId, touched, before))) return "overtaken";
      const { workspaceId, sessionId } = scope;
      await inner`delete from workspace_files where workspace_id = ${workspaceId} and path = any(${deletes as string[]})`;
      await inner`delete from workspace_folders where workspace_id = ${workspaceId} and path = any(${foldersGone as string[]})`;
      await writeWorkspaceFiles(inner, workspaceId, sessionId, writes);
      await inner`
        insert into workspace_folders (workspace_id, path)
        select ${workspaceId}, made.path from unnest(${foldersMade as string[]}::text[]) as made (path)
        on conflict do nothing`;
      return shown;
    };
    return await scope.write((inner) => withWorkspace(inner, scope.tenantId, scope.workspaceId, commit));
  } catch (error) {
    // The workspace's limits, or a file in place of a folder that another writer created in the meantime.
    if (!(error instanceof ApiError) || !isFileFault(error)) throw error;
    return { ...shown, exitCode: 1, notes: [...shown.notes, error.message, "No file was changed."] };
  }
}

function isFileFault({ reason }: ApiError): boolean {
  if (reason === "quota_exceeded") return true;
  return reason === "invalid_request" || reason === "validation_failed" || reason === "payload_too_large";
}

async function isAsBefore(sql: AnySql, workspaceId: string, paths: readonly string[], before: Revisions) {
  const rows = await sql<{ path: string; revision: number }[]>`
    select path, revision from workspace_files where workspace_id = ${workspaceId} and path = any(${paths as string[]})`;
  const now = new Map(rows.map(({ path, revision }) => [path, revision]));
  return paths.every((path) => now.get(path) === before.get(path));
}
