import type { CommandResult, StoredFile } from "../runtime.ts";

/** The messages between a worker and the process that runs one command or search. */

export interface CommandJob {
  readonly kind: "command";
  readonly command: string;
  readonly stdin: string;
  readonly timeoutMs: number;
  readonly files: readonly StoredFile[];
  readonly folders: readonly string[];
}

export interface SearchJob {
  readonly kind: "search";
  readonly pattern: string;
  readonly files: readonly Pick<StoredFile, "path" | "size">[];
}

export type ProcessJob = CommandJob | SearchJob;

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
