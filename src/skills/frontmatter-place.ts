import { ApiError } from "../kernel/errors.ts";

/** Where something stands in a SKILL.md, both counted from 1. */
export interface FilePlace {
  readonly line: number;
  readonly column: number;
}

/** Returns the place of a character of a text whose first line has the number `line`. */
export function placeAt({ text, line }: { readonly text: string; readonly line: number }, at: number): FilePlace {
  const before = text.slice(0, at);
  return { line: line + before.split("\n").length - 1, column: at - (before.lastIndexOf("\n") + 1) + 1 };
}

/** Returns the error 400 `skill_invalid_markdown` with the place, what is wrong there and what mends it. */
export function broken({ line, column }: FilePlace, wrong: string, cure: string): ApiError {
  return new ApiError("skill_invalid_markdown", {
    message: `SKILL.md is not valid: line ${line}, column ${column}: ${wrong}; ${cure}.`,
  });
}

/** Whether an error is one of `broken`. */
export function isBroken(error: unknown): boolean {
  return error instanceof ApiError && error.reason === "skill_invalid_markdown";
}
