import { InvalidToolInputError, JSONParseError, NoSuchToolError } from "ai";
import { ApiError, type Issue } from "../kernel/errors.ts";

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

/** The failure of a call that names no tool, or gives it the wrong input, in place of the AI SDK's, which tells class names. */
export function unusableCall(error: unknown): ToolError {
  if (InvalidToolInputError.isInstance(error))
    return new ToolError(`The tool's input is not valid${faultOf(error.cause)}.`, { cause: error });
  if (!NoSuchToolError.isInstance(error)) return tellable(error);
  const names = error.availableTools ?? [];
  const offered = names.length === 0 ? "" : `; there are ${names.join(", ")}`;
  return new ToolError(`There is no tool ${error.toolName}${offered}.`, { cause: error });
}

/** What is wrong with an input, as far as it was found by us. */
function faultOf(cause: unknown): string {
  if (JSONParseError.isInstance(cause)) return ": it is not JSON";
  const reason = cause instanceof Error && !(cause instanceof ApiError) ? cause.cause : cause;
  if (!(reason instanceof ApiError)) return "";
  const issues = (reason.details?.issues ?? []) as readonly Issue[];
  return `: ${issues.map(({ path, message }) => `${path || "it"}: ${message}`).join("; ")}`;
}
