/** The messages between a worker and the process that runs one command or search. */

/** A file as the process receives it; its content is requested when it is needed. */
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

/** The difference between the workspace after a command and before it. */
export interface Changes {
  readonly writes: readonly { path: string; content: Uint8Array; executable: boolean }[];
  readonly deletes: readonly string[];
  /** Empty folders that are new, and those that no longer exist or are no longer empty. */
  readonly foldersMade: readonly string[];
  readonly foldersGone: readonly string[];
}

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  readonly changes: Changes;
  /** Notes beside the output: what was cut, what was not kept. */
  readonly notes: readonly string[];
}

export interface SearchResult {
  readonly matches: readonly { path: string; line: number; text: string }[];
  readonly complete: boolean;
}

/** A message of the process. */
export type ProcessMessage =
  /** It has its job: its time limit begins. */
  | { readonly type: "begun" }
  | { readonly type: "need"; readonly paths: readonly string[] }
  | { readonly type: "done"; readonly result: CommandResult | SearchResult }
  /** The job itself failed; the model may see the text. */
  | { readonly type: "failed"; readonly message: string };

/** A message of the worker: the job first, then the contents requested, in the same order; null for a file that no longer exists. */
export type WorkerMessage =
  | { readonly type: "job"; readonly job: ProcessJob }
  | { readonly type: "contents"; readonly contents: readonly (Uint8Array | null)[] };

/** Requests contents from the worker. */
export type FetchContents = (paths: readonly string[]) => Promise<readonly (Uint8Array | null)[]>;
