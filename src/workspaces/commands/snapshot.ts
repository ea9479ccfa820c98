import type { Sql } from "../../kernel/database/client.ts";
import { copiedText, copyOut } from "../../kernel/database/copy-out.ts";
import { filesKnownMax, listsKnownMax } from "../limits.ts";
import type { StoredFile } from "../runtime.ts";
import { checkReady, type WorkspaceStatus } from "../store.ts";

/** A workspace as it is at one moment. */
export interface Snapshot {
  readonly files: readonly StoredFile[];
  /** Empty folders. */
  readonly folders: readonly string[];
}

/** The lists that were read last, in the order of their use: at most `filesKnownMax` files together. */
const known = new Map<string, Snapshot>();
let filesKnown = 0;

const nothingKnown: Snapshot = { files: [], folders: [] };

/**
 * Reads the list of a workspace's files, without their contents. Of one that this process has read before only what is new
 * is read: each writer of a file holds the workspace's lock, so what is new has higher revisions, and where the number of files is
 * then another one, some were deleted, and all are read. Throws 404 `workspace_not_found`, 409 `workspace_delete_conflict`.
 */
export async function readSnapshot(sql: Sql, tenantId: string, workspaceId: string): Promise<Snapshot> {
  const before = known.get(workspaceId) ?? nothingKnown;
  const now = await readSince(sql, tenantId, workspaceId, before);
  const snapshot = now ?? (await readSince(sql, tenantId, workspaceId, nothingKnown));
  // Within one statement, that of an empty list has all files.
  if (snapshot === null) throw new Error("The list of files has another length than was counted.");
  remember(workspaceId, snapshot);
  return snapshot;
}

type FileRow = readonly [path: string, size: number, executable: boolean, mtimeMs: number, revision: number];

/** Returns what a list is now; null when files of it are gone. */
async function readSince(sql: Sql, tenantId: string, workspaceId: string, before: Snapshot): Promise<Snapshot | null> {
  const last = before.files.reduce((max, { revision }) => Math.max(max, revision), 0);
  const [row] = await sql<{ status: WorkspaceStatus; files: number; changed: FileRow[]; folders: string[] }[]>`
    select status,
      (select count(*)::int from workspace_files where workspace_id = w.id) as files,
      (select coalesce(json_agg(json_build_array(path, size, executable, trunc(extract(epoch from updated_at) * 1000), revision)
          order by path), '[]')
        from workspace_files where workspace_id = w.id and revision > ${last}) as changed,
      (select coalesce(json_agg(path order by path), '[]') from workspace_folders where workspace_id = w.id) as folders
    from workspaces w where id = ${workspaceId} and tenant_id = ${tenantId}`;
  checkReady(row);
  const { files: count, changed, folders } = row;
  const fresh = changed.map(([path, size, executable, mtimeMs, revision]) => ({
    path,
    size,
    executable,
    mtimeMs,
    revision,
  }));
  const files = fresh.length === 0 ? before.files : merged(before.files, fresh);
  return files.length === count ? { files, folders } : null;
}

function merged(before: readonly StoredFile[], fresh: readonly StoredFile[]): readonly StoredFile[] {
  if (before.length === 0) return fresh;
  const files = new Map(before.map((file) => [file.path, file]));
  for (const file of fresh) files.set(file.path, file);
  return [...files.values()].sort((left, right) => (left.path < right.path ? -1 : 1));
}

function remember(workspaceId: string, snapshot: Snapshot): void {
  filesKnown += snapshot.files.length - (known.get(workspaceId)?.files.length ?? 0);
  known.delete(workspaceId);
  known.set(workspaceId, snapshot);
  for (const [id, { files }] of known) {
    if (filesKnown <= filesKnownMax && known.size <= listsKnownMax) break;
    known.delete(id);
    filesKnown -= files.length;
  }
}

/** Files that have more bytes together are copied out; for fewer, a statement that is prepared already is faster. */
const plainBytesMax = 256 * 1024;

/** Returns the contents of files, in the order of `paths`; null for one that no longer exists. `sizes` are those that the files had a moment ago. */
export async function readContents(
  sql: Sql,
  workspaceId: string,
  paths: readonly string[],
  sizes: ReadonlyMap<string, number>,
): Promise<(Uint8Array | null)[]> {
  const bytes = paths.reduce((sum, path) => sum + (sizes.get(path) ?? 0), 0);
  const found =
    bytes > plainBytesMax ? await copyContents(sql, workspaceId, paths) : await selectContents(sql, workspaceId, paths);
  return paths.map((path) => found.get(path) ?? null);
}

async function selectContents(
  sql: Sql,
  workspaceId: string,
  paths: readonly string[],
): Promise<Map<string, Uint8Array>> {
  const rows = await sql<{ path: string; content: Buffer }[]>`
    select path, content from workspace_files where workspace_id = ${workspaceId} and path = any(${paths as string[]})`;
  return new Map(rows.map(({ path, content }) => [path, content]));
}

async function copyContents(sql: Sql, workspaceId: string, paths: readonly string[]): Promise<Map<string, Uint8Array>> {
  const rows = await copyOut(
    sql,
    `select path, content from workspace_files where workspace_id = ${copiedText(workspaceId)}
      and path = any(array(select json_array_elements_text(${copiedText(JSON.stringify(paths))}::json)))`,
  );
  return new Map(rows.map(([path, content]) => [String(path), content ?? Buffer.alloc(0)]));
}
