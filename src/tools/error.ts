import { ApiError } from "../errors.ts";

/** A failed tool call, in words for the model and the transcript: no internals, no secrets. */
export class ToolError extends Error {
  override readonly name = "ToolError";

  /** The AI SDK tells the model this; what the reader is told is the message, and both must be the same. */
  override toString(): string {
    return this.message;
  }
}

/**
 * What a failed call tells the model. Words that were made for reading stay;
 * anything unforeseen (a database's message, say) is kept as the cause alone.
 */
export function tellable(error: unknown): ToolError {
  if (error instanceof ToolError) return error;
  if (error instanceof ApiError) return new ToolError(error.message, { cause: error });
  return new ToolError("The tool cannot do this right now.", { cause: error });
}
