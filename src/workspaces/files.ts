import { limitedTenant, requireRoomWritten } from "../kernel/admission/stored-bytes.ts";
import type { AnySql, Tx } from "../kernel/database/client.ts";
import { inOneTrip } from "../kernel/database/transaction.ts";
import { ApiError, invalid } from "../kernel/errors.ts";
import { fileBytesMax, workspaceBytesMax, workspaceFilesMax } from "./limits.ts";
import { foldersOf } from "./paths.ts";

/** A batch has at most this many files. */
const batchFilesMax = 200;
/** The size limit of a batch of more than one file. */
const batchBytesMax = 8 * 1024 * 1024;

/** A file in a list. */
export interface FileEntry {
  readonly path: string;
  readonly sizeBytes: number;
}

/** A file to write. */
export interface FileWrite {
  readonly path: string;
  readonly content: Uint8Array;
  /** Left out: as it was, or false for a new file. */
  readonly executable?: boolean;
}

/** Returns all files of a workspace by path; `under` narrows them to one file or what lies in one folder. */
export async function listWorkspaceFiles(sql: AnySql, workspaceId: string, under = ""): Promise<FileEntry[]> {
  const rows = await sql<{ path: string; size: number }[]>`
    select path, size from workspace_files where workspace_id = ${workspaceId}
      ${under === "" ? sql`` : sql`and (path = ${under} or ${isIn(sql, sql`${under}::text`)})`}
    order by path`;
  return rows.map(({ path, size }) => ({ path, sizeBytes: size }));
}

/** Returns a file's bytes; null when there is none. */
export async function readWorkspaceFile(sql: AnySql, workspaceId: string, path: string): Promise<Uint8Array | null> {
  const [row] = await sql<{ content: Buffer }[]>`
    select content from workspace_files where workspace_id = ${workspaceId} and path = ${path}`;
  return row?.content ?? null;
}

/**
 * Writes files under the workspace's lock. `sessionId` names the session whose
 * tool call writes; null for an upload. Throws 400 for a file in place of a
 * folder or the reverse, 400 `invalid_request` beyond the workspace's limits, 413
 * beyond a file's, 429 `quota_exceeded` beyond what the tenant may store. Returns the revisions that they have now.
 */
export async function writeWorkspaceFiles(
  inner: Tx,
  workspaceId: string,
  sessionId: string | null,
  writes: readonly FileWrite[],
): Promise<ReadonlyMap<string, number>> {
  if (writes.length === 0) return new Map();
  const bytes = writes.reduce((sum, { content }) => sum + content.byteLength, 0);
  const tooLarge = writes.find(({ content }) => content.byteLength > fileBytesMax);
  if (tooLarge !== undefined) {
    const limit = `${fileBytesMax / 1024 / 1024} MiB`;
    throw new ApiError("payload_too_large", { message: `${tooLarge.path} is larger than ${limit}.` });
  }
  const revisions = new Map<string, number>();
  const write = async (batch: readonly FileWrite[]) => {
    for (const { path, revision } of await writeBatch(inner, workspaceId, sessionId, batch))
      revisions.set(path, revision);
  };
  const batches = batchesOf(writes, (file) => file.content.byteLength);
  const paths = writes.map(({ path }) => path);
  for (const batch of batches.slice(0, -1)) await write(batch);
  const [limited] = await inOneTrip([
    limitedTenant(inner, { workspaceId }),
    write(batches.at(-1) ?? []),
    checkPlaces(inner, workspaceId, paths),
    inner`delete from workspace_folders where workspace_id = ${workspaceId} and path = any(${paths})`,
    checkLimits(inner, workspaceId),
  ]);
  await requireRoomWritten(inner, limited, bytes);
  return revisions;
}

/** Writes a batch in one statement: a statement each took 9,000 small files beyond the time that a transaction has. */
async function writeBatch(
  inner: Tx,
  workspaceId: string,
  sessionId: string | null,
  batch: readonly FileWrite[],
): Promise<readonly { readonly path: string; readonly revision: number }[]> {
  const contents = batch.map(({ content }) =>
    Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("hex"),
  );
  return inner<{ path: string; revision: number }[]>`
    insert into workspace_files (workspace_id, path, content, size, executable, session_id)
    select ${workspaceId}, w.path, decode(w.content, 'hex'), length(w.content) / 2, coalesce(w.executable::boolean, was.executable, false), ${sessionId}
    from unnest(${batch.map(({ path }) => path)}::text[], ${contents}::text[], ${batch.map(({ executable }) => executable?.toString() ?? null)}::text[])
      as w (path, content, executable)
    left join workspace_files was on was.workspace_id = ${workspaceId} and was.path = w.path
    on conflict (workspace_id, path) do update set content = excluded.content, size = excluded.size,
      executable = excluded.executable, session_id = excluded.session_id,
      revision = nextval('workspace_file_revisions'), updated_at = clock_timestamp()
    returning path, revision`;
}

/** Splits files into batches: one batch at a time is in memory and on its way to or from the database. */
export function batchesOf<T>(files: readonly T[], bytesOf: (file: T) => number): T[][] {
  const batches: T[][] = [];
  let bytes = 0;
  for (const file of files) {
    const last = batches.at(-1);
    const size = bytesOf(file);
    if (last === undefined || last.length === batchFilesMax || bytes + size > batchBytesMax) {
      batches.push([file]);
      bytes = size;
    } else {
      last.push(file);
      bytes += size;
    }
  }
  return batches;
}

/** Checks that no path is both a file and a folder. Throws 400. */
async function checkPlaces(inner: Tx, workspaceId: string, paths: readonly string[]): Promise<void> {
  const folders = [...new Set(paths.flatMap(foldersOf))];
  const [[above], [below]] = await inOneTrip([
    inner<{ path: string }[]>`
      select path from workspace_files where workspace_id = ${workspaceId} and path = any(${folders}) limit 1`,
    inner<{ folder: string }[]>`
      select written.folder from unnest(${paths as string[]}::text[]) as written (folder) where exists (
        select 1 from workspace_files where workspace_id = ${workspaceId} and ${isIn(inner, inner`written.folder`)}) limit 1`,
  ]);
  if (above !== undefined) throw invalid("path", `lies below ${above.path}, which is a file`);
  if (below !== undefined) throw invalid("path", `${below.folder} is a folder`);
}

async function checkLimits(inner: Tx, workspaceId: string): Promise<void> {
  const [held] = await inner<{ files: number; bytes: number }[]>`
    select count(*)::int as files, sum(size)::bigint as bytes from workspace_files where workspace_id = ${workspaceId}`;
  if ((held?.files ?? 0) > workspaceFilesMax) {
    throw new ApiError("invalid_request", { message: `A workspace holds at most ${workspaceFilesMax} files.` });
  }
  if ((held?.bytes ?? 0) > workspaceBytesMax) {
    const limit = `${workspaceBytesMax / 1024 / 1024} MiB`;
    throw new ApiError("invalid_request", { message: `A workspace holds at most ${limit}.` });
  }
}

/** Deletes a file, and returns whether there was one; a missing one is no error. Throws 400 for a folder. */
export async function deleteWorkspaceFile(inner: Tx, workspaceId: string, path: string): Promise<boolean> {
  const { count } = await inner`delete from workspace_files where workspace_id = ${workspaceId} and path = ${path}`;
  if (count > 0) return true;
  const [below] = await inner`
    select 1 from workspace_files where workspace_id = ${workspaceId} and ${isIn(inner, inner`${path}::text`)} limit 1`;
  if (below !== undefined) throw invalid("path", "is a folder");
  return false;
}

/**
 * Returns the condition that a file lies in a folder. `0` is the character after `/`, so
 * the paths between the two bounds begin with the folder and a slash.
 */
function isIn(sql: AnySql, folder: ReturnType<AnySql>) {
  return sql`(path > ${folder} || '/' and path < ${folder} || '0')`;
}
