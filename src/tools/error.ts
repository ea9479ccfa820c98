import { ApiError } from "../errors.ts";

/** A failed tool call, in words for the model and the transcript: no internals, no secrets. */
export class ToolError extends Error {
  override readonly name = "ToolError";
}

/**
 * What a failed call tells the model. Words that were made for reading stay;
 * anything unforeseen (a database's message, say) is kept as the cause alone.
 */
export function tellable(error: unknown): Error {
  if (error instanceof ToolError || error instanceof ApiError) return error;
  return new ToolError("The tool cannot do this right now.", { cause: error });
}
