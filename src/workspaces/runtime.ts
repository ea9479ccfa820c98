/** What commands run in: the interface that all runtimes have (docs/sandboxes.md). */

/** The names of the runtimes, as `SANDBOX` has them. */
export type RuntimeName = "simulated" | "bubblewrap" | "remote";

/** A file as a command's runtime is told of it; its content is requested when it is needed. */
export interface StoredFile {
  readonly path: string;
  readonly size: number;
  readonly executable: boolean;
  readonly mtimeMs: number;
  /** Which of all contents that were ever written to files it is. */
  readonly revision: number;
}

/** A command, and the workspace as it is when the command begins. */
export interface CommandRequest {
  readonly tenantId: string;
  readonly workspaceId: string;
  readonly command: string;
  readonly stdin: string;
  /** Counts from the command's own start. */
  readonly timeoutMs: number;
  readonly files: readonly StoredFile[];
  /** Empty folders. */
  readonly folders: readonly string[];
}

/** The difference between the workspace after a command and before it. */
export interface Changes {
  readonly writes: readonly { path: string; content: Uint8Array; executable: boolean }[];
  readonly deletes: readonly string[];
  /** Empty folders that are new, and those that no longer exist or are no longer empty. */
  readonly foldersMade: readonly string[];
  readonly foldersGone: readonly string[];
}

export const noChanges: Changes = { writes: [], deletes: [], foldersMade: [], foldersGone: [] };

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  /** Output that is not in `stdout` and `stderr`, because there was too much. */
  readonly isCut: boolean;
  readonly exitCode: number;
  readonly durationMs: number;
  readonly changes: Changes;
  /** Notes beside the output: what was cut, what was not kept. */
  readonly notes: readonly string[];
}

/** A result, and whom to tell what became of it. */
export interface RuntimeResult extends CommandResult {
  /** Tells the runtime the revisions that the written files have now, so that it need not be given them again. Never throws. */
  kept(revisions: ReadonlyMap<string, number>): Promise<void>;
}

/** Requests contents of files; null for one that no longer exists. */
export type FetchContents = (paths: readonly string[]) => Promise<readonly (Uint8Array | null)[]>;

export interface RunOptions {
  readonly fetch: FetchContents;
  readonly signal: AbortSignal;
  /** Told the paths of all files that will be fetched, before anything runs. What it throws is thrown, and nothing has run. */
  readonly needs?: (paths: readonly string[]) => void;
}

/** The exit code of a command that its time has ended. */
export const timeUpExitCode = 124;

/** The command was ended from outside, or not begun: nothing that it wrote is kept. The message says why. */
export class CommandCutError extends Error {
  override readonly name = "CommandCutError";
  readonly exitCode: number;

  constructor(message: string, exitCode = timeUpExitCode) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The host that runs commands cannot be used, or was lost: nothing that the command wrote is kept. The model is told. */
export class RuntimeUnavailableError extends Error {
  override readonly name = "RuntimeUnavailableError";
}

/** What runs commands. It keeps nothing that a command needs: a workspace's files are rows of Postgres. */
export interface Runtime {
  /** Whether it runs real programs, which see the workspace at `/workspace`. */
  readonly isReal: boolean;
  /**
   * Waits for one of the places in which commands run at once, and holds it for `work`: what
   * is read for a command is read within it, so that commands that wait hold no list of files. Throws the
   * signal's reason, `ToolError` when no place became free in time, and what `work` throws.
   */
  inPlace<T>(tenantId: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  /**
   * Runs a command, for callers that hold a place. Never throws for what the command does. Throws the signal's reason,
   * `CommandCutError`, `RuntimeUnavailableError`.
   */
  run(request: CommandRequest, options: RunOptions): Promise<RuntimeResult>;
  /** Ends what runs, and forgets what it keeps. */
  close(): Promise<void>;
}
