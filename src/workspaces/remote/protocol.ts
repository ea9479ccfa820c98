import type { CommandRequest, CommandResult } from "../runtime.ts";

/**
 * What workers and hosts of sandboxes say to each other over HTTP, as frames (`frames.ts`). A host keeps nothing between two
 * requests that a command needs, so any host may have the next one.
 *
 * `POST /commands`: first a `run`, then the contents that it offers, in that order. The response is a stream: a beat each
 * second, and one last message. Where that is `need`, nothing has run, and the request is sent again with those files.
 *
 * `POST /kept`: a `kept`.
 */
export const commandsPath = "/commands";
export const keptPath = "/kept";

/** A host says something at least this often. */
export const beatMs = 1_000;
/** A host that says nothing for this long is lost. */
export const silenceMs = 15_000;
/** The size limit of one frame: the contents of a whole workspace, and a list of it. */
export const remoteFrameBytesMax = 160 * 1024 * 1024;

export interface RunMessage {
  readonly type: "run";
  readonly request: CommandRequest;
  /** Paths of the files whose contents follow. */
  readonly offers: readonly string[];
}

/** The next contents that were offered; null for a file that no longer exists. */
export interface ContentsMessage {
  readonly type: "contents";
  readonly contents: readonly (Uint8Array | null)[];
}

/** What a host says, a beat at any time and one of the others last. */
export type HostMessage =
  | { readonly type: "beat" }
  | { readonly type: "need"; readonly paths: readonly string[] }
  | { readonly type: "done"; readonly result: CommandResult }
  /** It was ended, or not begun: `CommandCutError`. */
  | { readonly type: "cut"; readonly message: string; readonly exitCode: number }
  /** There was no place for it. */
  | { readonly type: "refused"; readonly message: string }
  /** This host cannot run it. */
  | { readonly type: "unavailable"; readonly message: string };

export interface KeptMessage {
  readonly type: "kept";
  readonly tenantId: string;
  readonly workspaceId: string;
  readonly revisions: readonly (readonly [path: string, revision: number])[];
}
