import { invalid } from "../kernel/errors.ts";
import { ToolError } from "../tools/error.ts";
import { pathProblem } from "./path-rules.ts";
import type { Runtime } from "./runtime.ts";

/**
 * Returns a request's path of one file, relative to the root; a leading slash is allowed
 * and removed. Throws 400 for the root, empty segments, `.`, `..`, NUL, lone surrogates
 * and what is too long.
 */
export function readFilePath(path: string): string {
  const relative = path.startsWith("/") ? path.slice(1) : path;
  const problem = relative === "" ? "must name a file" : pathProblem(relative);
  if (problem !== null) throw invalid("path", problem);
  return relative;
}

/** Returns whether a request's path is the root's. */
export function isRootPath(path: string): boolean {
  return path === "/";
}

/** Where real programs see the workspace. */
const mountedAt = "/workspace";

/** Returns a model's path or pattern as it is from the root, where that is `/workspace` for programs. */
export function fromMount(path: string, { isReal }: Pick<Runtime, "isReal">): string {
  return isReal && `${path}/`.startsWith(`${mountedAt}/`) ? path.slice(mountedAt.length + 1) : path;
}

/**
 * Returns a model's path relative to the root, empty for the root itself: `.` and `..`
 * are resolved, a slash at the end is removed; where programs are real, `/workspace` is the root too. Throws a `ToolError` for a path that
 * leaves the root or is no path.
 */
export function readToolPath(path: string, runtime: Pick<Runtime, "isReal">): string {
  const segments: string[] = [];
  for (const segment of fromMount(path, runtime).split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") segments.push(segment);
    else if (segments.pop() === undefined) throw new ToolError(`${path} lies outside the workspace.`);
  }
  const relative = segments.join("/");
  const problem = relative === "" ? null : pathProblem(relative);
  if (problem !== null) throw new ToolError(`The path ${problem}.`);
  return relative;
}

/** As `readToolPath`, for a path that must name a file; throws for the root too. */
export function readToolFilePath(path: string, runtime: Pick<Runtime, "isReal">): string {
  const relative = readToolPath(path, runtime);
  if (relative === "") throw new ToolError("The path must name a file.");
  return relative;
}

/** Returns the folders a file lies in, the outermost first: `a/b/c` lies in `a` and `a/b`. */
export function foldersOf(path: string): string[] {
  const segments = path.split("/").slice(0, -1);
  return segments.map((_, index) => segments.slice(0, index + 1).join("/"));
}
