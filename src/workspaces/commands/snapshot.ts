import type { AnySql, Sql } from "../../kernel/database/client.ts";
import type { StoredFile } from "../runtime.ts";

/** A workspace as it is at one moment. */
export interface Snapshot {
  readonly files: readonly StoredFile[];
  /** Empty folders. */
  readonly folders: readonly string[];
}

/** Reads the list of a workspace's files, without their contents. */
export async function readSnapshot(sql: Sql, workspaceId: string): Promise<Snapshot> {
  const [rows, folders] = await Promise.all([
    sql<{ path: string; size: number; executable: boolean; revision: number; updatedAt: Date }[]>`
      select path, size, executable, revision, updated_at from workspace_files
      where workspace_id = ${workspaceId} order by path`,
    sql<{ path: string }[]>`select path from workspace_folders where workspace_id = ${workspaceId} order by path`,
  ]);
  const files = rows.map(({ updatedAt, ...file }) => ({ ...file, mtimeMs: updatedAt.getTime() }));
  return { files, folders: folders.map(({ path }) => path) };
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
