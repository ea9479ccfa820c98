import type { UIMessageChunk } from "ai";

/** How far a tool's call has come, as its server says. */
export interface ToolProgress {
  readonly progress: number;
  /** Null where the server does not say how much there is to do. */
  readonly total: number | null;
  readonly message: string | null;
}

/** Returns the chunk that shows readers how far a call has come. It is in the stream only: no message has it. */
export function progressChunk(toolCallId: string, { progress, total, message }: ToolProgress): UIMessageChunk {
  return { type: "data-tool-progress", data: { toolCallId, progress, total, message }, transient: true };
}

/** Returns whether a chunk is for those who read the stream alone: it becomes no part of the message. */
export function isStreamOnly(chunk: { readonly type: string }): boolean {
  return (chunk as { readonly transient?: unknown }).transient === true;
}
