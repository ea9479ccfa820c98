import { invalid } from "../errors.ts";
import { ToolError } from "../tools/error.ts";
import { pathBytesMax } from "./schema.ts";

/** The first folder of paths that are no files of any workspace (document 1, "Skill"). */
export const virtualFolder = ".parley";

/**
 * Reads a request's path of one file: relative to the root, a leading slash
 * allowed. Answers it without one. Throws 400 for the root, empty segments, `.`,
 * `..`, NUL, lone surrogates and what is too long.
 */
export function readFilePath(path: string): string {
  const relative = path.startsWith("/") ? path.slice(1) : path;
  const problem = relative === "" ? "must name a file" : pathProblem(relative);
  if (problem !== null) throw invalid("path", problem);
  return relative;
}

/** Whether a request's path is the root's. */
export function isRoot(path: string): boolean {
  return path === "/";
}

/**
 * Reads a path as a model writes it: `.` and `..` are followed, a closing slash
 * is dropped. Answers it relative to the root, empty for the root itself. Throws
 * a `ToolError` for a path that leaves the root or is no path.
 */
export function readToolPath(path: string): string {
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") segments.push(segment);
    else if (segments.pop() === undefined) throw new ToolError(`${path} lies outside the workspace.`);
  }
  const relative = segments.join("/");
  const problem = relative === "" ? null : pathProblem(relative);
  if (problem !== null) throw new ToolError(`The path ${problem}.`);
  return relative;
}

/** `readToolPath` where the root is no answer. */
export function readToolFilePath(path: string): string {
  const relative = readToolPath(path);
  if (relative === "") throw new ToolError("The path must name a file.");
  return relative;
}

/** Why a relative path cannot be a file's; null when it can. */
export function pathProblem(relative: string): string | null {
  if (Buffer.byteLength(relative) > pathBytesMax) return `must have at most ${pathBytesMax} bytes`;
  if (relative.includes("\0")) return "must not contain the NUL character";
  if (!relative.isWellFormed()) return "must be well-formed Unicode";
  const segments = relative.split("/");
  if (segments.includes("")) return "must not have empty segments";
  if (segments.includes(".") || segments.includes("..")) return "must not have . or .. segments";
  if (segments[0] === virtualFolder) return `must not begin with ${virtualFolder}`;
  return null;
}

/** The folders a file lies in, the outermost first: `a/b/c` lies in `a` and `a/b`. */
export function foldersOf(path: string): string[] {
  const segments = path.split("/").slice(0, -1);
  return segments.map((_, index) => segments.slice(0, index + 1).join("/"));
}
