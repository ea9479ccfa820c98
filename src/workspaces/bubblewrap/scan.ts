import { fileBytesMax, workspaceFilesMax } from "../limits.ts";
import { pathProblem } from "../path-rules.ts";
import { foldersOf } from "../paths.ts";
import type { StoredFile } from "../runtime.ts";

/** What one place of a folder was when it was last looked at. */
export interface Entry {
  readonly kind: "file" | "folder" | "other";
  readonly what: string;
  readonly size: number;
  readonly executable: boolean;
  /** Differs as soon as the content may differ: a program sets neither the number of a file nor when it was last changed. */
  readonly state: string;
}

/** A folder as it was when it was last looked at: by path, and what cannot be a path of a workspace, with the reason. */
export interface Scan {
  readonly entries: ReadonlyMap<string, Entry>;
  readonly misfits: readonly { readonly name: Buffer; readonly reason: string }[];
  /** Of all entries together. */
  readonly bytes: number;
}

export const emptyScan: Scan = { entries: new Map(), misfits: [], bytes: 0 };

const kinds: Readonly<Record<string, string>> = {
  l: "a symbolic link",
  p: "a named pipe",
  s: "a socket",
  b: "a device",
  c: "a device",
};

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Reads a list that the sandbox wrote: its type, size, mode, number, time of change and path, each ended by NUL. */
export function readScan(list: Buffer): Scan {
  const entries = new Map<string, Entry>();
  const misfits: Scan["misfits"][number][] = [];
  let bytes = 0;
  for (let at = 0; at < list.byteLength; ) {
    const end = list.indexOf(0, at);
    const record = list.subarray(at, end < 0 ? list.byteLength : end);
    at += record.byteLength + 1;
    const head = headOf(record);
    if (head === null) continue;
    const { type, size, mode, state, name } = head;
    const path = textOf(name);
    const reason = path === null ? "its name is not UTF-8" : pathProblem(path);
    if (path === null || reason !== null) {
      misfits.push({ name, reason: path === null ? (reason as string) : `a path ${reason}` });
      continue;
    }
    bytes += size;
    const kind = type === "f" ? "file" : type === "d" ? "folder" : "other";
    const what = kinds[type] ?? "neither a file nor a folder";
    entries.set(path, { kind, what, size, executable: (mode & 0o111) !== 0, state: `${state} ${size}` });
  }
  return { entries, misfits, bytes };
}

const fieldsBeforeName = 5;

function headOf(record: Buffer) {
  let at = 0;
  const fields: string[] = [];
  while (fields.length < fieldsBeforeName) {
    const end = record.indexOf(0x20, at);
    if (end < 0) return null;
    fields.push(record.toString("latin1", at, end));
    at = end + 1;
  }
  const [type = "", size = "", mode = "", inode = "", changed = ""] = fields;
  const head = { type, size: Number(size), mode: Number.parseInt(mode, 8), state: `${inode} ${changed}` };
  return Number.isSafeInteger(head.size) && Number.isInteger(head.mode) ? { ...head, name: record.subarray(at) } : null;
}

function textOf(name: Buffer): string | null {
  try {
    return utf8.decode(name);
  } catch {
    return null;
  }
}

/** What a command left that differs from the workspace as it was. */
export interface Difference {
  /** Paths of files whose content or mode may differ. */
  readonly changed: readonly string[];
  readonly deletes: readonly string[];
  readonly foldersMade: readonly string[];
  readonly foldersGone: readonly string[];
  /** What cannot be kept, one sentence each. */
  readonly leftOut: readonly string[];
}

/** Names of what was left out that are told; the others are counted. */
const namedMax = 10;

/** Compares a folder after a command with what it was before (`before`, of which `files` and `folders` are the workspace's). */
export function differenceOf(
  before: Scan,
  after: Scan,
  { files, folders }: { readonly files: readonly StoredFile[]; readonly folders: readonly string[] },
): Difference {
  const stored = new Map(files.map((file) => [file.path, file]));
  const leftOut: string[] = [];
  const changed: string[] = [];
  const inhabited = new Set<string>();
  for (const [path, entry] of after.entries) {
    const isTooLarge = entry.kind === "file" && entry.size > fileBytesMax;
    const isKept = entry.kind !== "other" && (!isTooLarge || stored.has(path));
    // A folder that holds nothing else than what is left out is an empty one.
    if (isKept && path.includes("/")) inhabited.add(path.slice(0, path.lastIndexOf("/")));
    if (entry.kind === "other") leftOut.push(`${path} (${entry.what})`);
    if (entry.kind !== "file") continue;
    const isSame = before.entries.get(path)?.state === entry.state && stored.get(path)?.executable === entry.executable;
    if (isSame) continue;
    if (isTooLarge) leftOut.push(`${path} (larger than ${fileBytesMax / 1024 / 1024} MiB)`);
    else changed.push(path);
  }
  leftOut.push(...after.misfits.map(({ name, reason }) => `${shownName(name)} (${reason})`));
  const empty = new Set<string>();
  for (const [path, { kind }] of after.entries) if (kind === "folder" && !inhabited.has(path)) empty.add(path);
  const had = new Set(folders);
  return {
    changed,
    // A file that has become too large is there still, and what the workspace has of it stays.
    deletes: files.flatMap(({ path }) => (after.entries.get(path)?.kind === "file" ? [] : [path])),
    foldersMade: [...empty].filter((path) => !had.has(path)),
    foldersGone: folders.filter((path) => !empty.has(path)),
    leftOut: sentences(leftOut),
  };
}

function sentences(leftOut: readonly string[]): string[] {
  const named = leftOut.slice(0, namedMax).map((what) => `Not kept: ${what}.`);
  const others = leftOut.length - named.length;
  return others > 0 ? [...named, `Not kept: ${others} more.`] : named;
}

const shownCharactersMax = 200;

function shownName(name: Buffer): string {
  return name.toString().slice(0, shownCharactersMax);
}

/** What has to be done to a folder so that it is what the workspace is. */
export interface Renewal {
  /** Names that have to go, with all below them. */
  readonly removes: readonly Uint8Array[];
  readonly writes: readonly StoredFile[];
  readonly folders: readonly string[];
}

/** Returns how a folder becomes what the workspace is; `revisions` are those of the files in it that are known. */
export function renewalOf(
  scan: Scan,
  revisions: ReadonlyMap<string, number>,
  { files, folders }: { readonly files: readonly StoredFile[]; readonly folders: readonly string[] },
): Renewal {
  const wanted = new Map(files.map((file) => [file.path, file]));
  const wantedFolders = new Set([...folders, ...[...wanted.keys(), ...folders].flatMap(foldersOf)]);
  const removes: Uint8Array[] = scan.misfits.map(({ name }) => name);
  for (const [path, { kind }] of scan.entries) {
    const stays = kind === "folder" ? wantedFolders.has(path) : kind === "file" && wanted.has(path);
    if (!stays) removes.push(Buffer.from(path));
  }
  const writes = files.filter((file) => {
    const entry = scan.entries.get(file.path);
    const isThere = entry?.kind === "file" && entry.executable === file.executable;
    return !isThere || revisions.get(file.path) !== file.revision;
  });
  return { removes, writes, folders: folders.filter((path) => scan.entries.get(path)?.kind !== "folder") };
}

/** Returns whether a workspace could hold these files: where it cannot, they are not brought out of the sandbox. */
export function fitsWorkspace(after: Scan): boolean {
  let files = 0;
  for (const { kind } of after.entries.values()) if (kind === "file") files += 1;
  return files <= workspaceFilesMax;
}
