/** What is said between a worker and the process that runs one command or search. */

/** A file as the process is told of it; its content is asked for when it is needed. */
export interface StoredFile {
  readonly path: string;
  readonly size: number;
  readonly executable: boolean;
  readonly mtimeMs: number;
}

export interface CommandJob {
  readonly kind: "command";
  readonly command: string;
  readonly files: readonly StoredFile[];
  readonly folders: readonly string[];
}

export interface SearchJob {
  readonly kind: "search";
  readonly pattern: string;
  readonly files: readonly Pick<StoredFile, "path" | "size">[];
}

export type ProcessJob = CommandJob | SearchJob;

/** What a command left behind, against what the workspace held when it began. */
export interface Changes {
  readonly writes: readonly { path: string; content: Uint8Array; executable: boolean }[];
  readonly deletes: readonly string[];
  /** Empty folders that came, and that are gone or empty no more. */
  readonly foldersMade: readonly string[];
  readonly foldersGone: readonly string[];
}

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  readonly changes: Changes;
  /** What is to be said beside the output: what was cut, what was not kept. */
  readonly notes: readonly string[];
}

export interface SearchResult {
  readonly matches: readonly { path: string; line: number; text: string }[];
  readonly complete: boolean;
}

/** What the process says. */
export type ProcessMessage =
  /** It has its job: its time begins. */
  | { readonly type: "begun" }
  | { readonly type: "need"; readonly paths: readonly string[] }
  | { readonly type: "done"; readonly result: CommandResult | SearchResult }
  /** The job itself is at fault; the text may be shown. */
  | { readonly type: "failed"; readonly message: string };

/** What it is told: its job first, then the contents it asks for, in the order asked; null for a file that is gone. */
export type WorkerMessage =
  | { readonly type: "job"; readonly job: ProcessJob }
  | { readonly type: "contents"; readonly contents: readonly (Uint8Array | null)[] };

/** Asks the worker for contents. */
export type FetchContents = (paths: readonly string[]) => Promise<readonly (Uint8Array | null)[]>;
