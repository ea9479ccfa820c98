import { Buffer } from "node:buffer";
import type { UIMessageChunk } from "ai";
import { answerBytesMax, answerChunksMax, answerPartsMax } from "../../kernel/limits.ts";
import { isStreamOnly } from "../../messages/tool-progress.ts";

/** Chunks that begin a part of the answer. */
const firstChunks: ReadonlySet<string> = new Set([
  ...["start-step", "text-start", "reasoning-start", "file", "source-url", "source-document"],
  ...["tool-input-start", "tool-input-available", "tool-input-error"],
]);

/** How large an answer is. */
export class AnswerSize {
  #bytes = 0;
  #chunks = 0;
  #parts = 0;

  add(chunk: UIMessageChunk): void {
    this.#bytes += chunkBytes(chunk);
    this.#chunks += 1;
    if (firstChunks.has(chunk.type)) this.#parts += 1;
  }

  /** Whether it is larger than an answer may be. */
  get isBeyond(): boolean {
    return this.#bytes > answerBytesMax || this.#chunks > answerChunksMax || this.#parts > answerPartsMax;
  }
}

/** Returns the bytes that a chunk adds to the answer: those of a delta's text, or of any other chunk as JSON; none of one that no message has. */
function chunkBytes(chunk: UIMessageChunk): number {
  if (isStreamOnly(chunk)) return 0;
  if (chunk.type === "text-delta" || chunk.type === "reasoning-delta") return Buffer.byteLength(chunk.delta);
  return Buffer.byteLength(JSON.stringify(chunk));
}
