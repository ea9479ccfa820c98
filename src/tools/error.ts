import { InvalidToolInputError, JSONParseError, NoSuchToolError } from "ai";
import { ApiError, type Issue } from "../kernel/errors.ts";

/**
 * The failure of a tool call. The model and the transcript get its message, so it holds no
 * internals and no secrets.
 */
export class ToolError extends Error {
  override readonly name = "ToolError";

  /** The AI SDK sends this to the model and the message to the reader; both must be the same. */
  override toString(): string {
    return this.message;
  }
}

/**
 * Returns an error as one that the model may see. The messages of a `ToolError` and an
 * `ApiError` stay; any other error (a database's, for example) gets a general message and
 * is kept only as the cause.
 */
export function toToolError(error: unknown): ToolError {
  if (error instanceof ToolError) return error;
  if (error instanceof ApiError) return new ToolError(error.message, { cause: error });
  return new ToolError("The tool cannot do this right now.", { cause: error });
}

/**
 * Returns the failure of a call that names no known tool, or whose input does not fit the
 * tool. It replaces the AI SDK's error, whose message has class names.
 */
export function unusableCall(error: unknown): ToolError {
  if (InvalidToolInputError.isInstance(error))
    return new ToolError(`The tool's input is not valid${faultOf(error.cause)}.`, { cause: error });
  if (!NoSuchToolError.isInstance(error)) return toToolError(error);
  const names = error.availableTools ?? [];
  const offered = names.length === 0 ? "" : `; there are ${names.join(", ")}`;
  return new ToolError(`There is no tool ${error.toolName}${offered}.`, { cause: error });
}

/** Returns what is wrong with an input, as the end of a sentence; empty when the cause is unknown. */
function faultOf(cause: unknown): string {
  if (JSONParseError.isInstance(cause)) return ": it is not JSON";
  const reason = cause instanceof Error && !(cause instanceof ApiError) ? cause.cause : cause;
  if (!(reason instanceof ApiError)) return "";
  const issues = (reason.details?.issues ?? []) as readonly Issue[];
  return `: ${issues.map(({ path, message }) => `${path || "it"}: ${message}`).join("; ")}`;
}
