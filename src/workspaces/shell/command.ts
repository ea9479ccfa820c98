import { Bash, type BashOptions, getCommandNames } from "just-bash";
import { fileBytesMax, processGraceMs, workspaceBytesMax, workspaceFilesMax } from "../limits.ts";
import { pathProblem } from "../path-rules.ts";
import { type Changes, type CommandResult, type FetchContents, noChanges, type StoredFile } from "../runtime.ts";
import { cleanOutput } from "./clean-output.ts";
import { addDevices, TreeFs, walk } from "./filesystem.ts";
import { CommandGuard } from "./guard.ts";
import type { CommandJob } from "./protocol.ts";
import { rm } from "./rm.ts";
import { type FileNode, Tree } from "./tree.ts";

/** Files, folders and links that a command may see or make. */
const nodesMax = 3 * workspaceFilesMax;
/** Characters of output that leave the process; the model gets fewer. */
const outputCharactersMax = 300_000;

/** Further limits of one command, beside the guard's time and memory. */
const limits: NonNullable<BashOptions["executionLimits"]> = {
  maxSourceBytes: 1024 * 1024,
  maxCommandCount: 10_000_000,
  maxLoopIterations: 10_000_000,
  maxAwkIterations: 10_000_000,
  maxSedIterations: 1_000_000,
  maxStringLength: 16 * 1024 * 1024,
  maxHeredocSize: fileBytesMax,
  maxOutputSize: 64 * 1024 * 1024,
  maxLiveBytes: 128 * 1024 * 1024,
  maxInputBytes: 256 * 1024 * 1024,
  maxArchiveBytes: workspaceBytesMax,
  maxArchiveEntryBytes: fileBytesMax,
  maxArchiveCompressedBytes: workspaceBytesMax,
  maxArchiveEntries: workspaceFilesMax,
};

/** Every built-in command but the one with a database engine. No network, no other languages. */
const commands = getCommandNames().filter((name) => name !== "sqlite3") as never[];

/** Runs a command over a workspace's files and returns its result. Never throws for what the command does. */
export async function runShellCommand(job: CommandJob, fetch: FetchContents): Promise<CommandResult> {
  const tree = new Tree({
    files: workspaceFilesMax,
    nodes: nodesMax,
    bytesEach: fileBytesMax,
    bytes: workspaceBytesMax,
  });
  const stored = fillTree(tree, job);
  addDevices(tree);
  const load = async (node: FileNode) => {
    const [content] = await fetch([node.storedAt ?? ""]);
    node.content ??= content ?? new Uint8Array();
    return node.content;
  };
  const startedAtMs = performance.now();
  const guard = new CommandGuard(job.timeoutMs);
  const bash = new Bash({
    fs: new TreeFs(tree, load),
    cwd: "/",
    commands,
    customCommands: [rm],
    // The interpreter's own limit would end the command without the guard's knowledge, and what it wrote by half would be kept.
    executionLimits: { ...limits, maxExecutionTimeMs: 2 * guard.limitMs + processGraceMs },
    // The process is the isolation; patching its globals as well would only slow it down.
    defenseInDepth: false,
    coverage: guard,
  });
  const { stdout, stderr, exitCode } = await bash
    .exec(job.command, { signal: guard.signal, rawScript: true, stdin: job.stdin })
    .catch(failedResult);
  const durationMs = Math.round(performance.now() - startedAtMs);
  const { changes, dropped } = await collect(tree, stored, job.folders, load);
  const notes = guard.isTimeUp ? guard.notes() : [...guard.notes(), ...dropped];
  const isCut = Math.max(stdout.length, stderr.length) > outputCharactersMax;
  return {
    stdout: shown(stdout),
    stderr: shown(stderr),
    isCut,
    exitCode,
    durationMs,
    notes,
    changes: guard.isTimeUp ? noChanges : changes,
  };
}

/** A redirection that exceeds a limit of the workspace ends the whole command. */
function failedResult(error: unknown) {
  const message = error instanceof Error ? error.message : String(error);
  return { stdout: "", stderr: `bash: ${message}\n`, exitCode: 1 };
}

/** A file as it was when the command began. */
interface OriginalFile {
  readonly node: FileNode;
  readonly executable: boolean;
}

/** Puts the workspace's files and folders into the tree. */
function fillTree(tree: Tree, { files, folders }: CommandJob): Map<string, OriginalFile> {
  const stored = new Map<string, OriginalFile>();
  const folderOf = (segments: readonly string[]) => {
    let folder = tree.root;
    for (const name of segments) {
      const child = folder.children.get(name);
      folder = child?.kind === "folder" ? child : tree.makeFolder(folder, name);
    }
    return folder;
  };
  for (const file of files) {
    const segments = file.path.split("/");
    const node = storedNode(tree, file);
    tree.attach(folderOf(segments.slice(0, -1)), segments.at(-1) as string, node);
    stored.set(file.path, { node, executable: file.executable });
  }
  for (const path of folders) folderOf(path.split("/"));
  return stored;
}

function storedNode(tree: Tree, { path, size, executable, mtimeMs }: StoredFile): FileNode {
  const mode = executable ? 0o755 : 0o644;
  const common = { kind: "file", id: tree.nextId(), links: 0, written: false, content: null } as const;
  return { ...common, storedAt: path, size, mode, mtime: new Date(mtimeMs) };
}

/** Returns what differs from the workspace as it was, and notes about what cannot be kept. */
async function collect(
  tree: Tree,
  stored: ReadonlyMap<string, OriginalFile>,
  foldersBefore: readonly string[],
  load: (node: FileNode) => Promise<Uint8Array>,
): Promise<{ changes: Changes; dropped: string[] }> {
  const now = new Map<string, FileNode>();
  const folders = new Set<string>();
  const dropped = new Set<string>();
  walk(tree.root, "", (path, node) => {
    const problem = node.kind === "device" ? null : pathProblem(path);
    if (problem !== null) dropped.add(`Not kept: ${path.slice(0, 200)} (a path ${problem}).`);
    else if (node.kind === "link") dropped.add(`Not kept: ${path} (a symbolic link).`);
    else if (node.kind === "file") now.set(path, node);
    else if (node.kind === "folder" && node.children.size === 0) folders.add(path);
  });
  const writes: Changes["writes"][number][] = [];
  for (const [path, node] of now) {
    const executable = (node.mode & 0o111) !== 0;
    const before = stored.get(path);
    if (before?.node === node && !node.written && before.executable === executable) continue;
    writes.push({ path, content: node.content ?? (await load(node)), executable });
  }
  const had = new Set(foldersBefore);
  const changes = {
    writes,
    deletes: [...stored.keys()].filter((path) => !now.has(path)),
    foldersMade: [...folders].filter((path) => !had.has(path)),
    foldersGone: [...had].filter((path) => !folders.has(path)),
  };
  return { changes, dropped: [...dropped].slice(0, 10) };
}

function shown(output: string): string {
  return cleanOutput(output.slice(0, outputCharactersMax));
}
