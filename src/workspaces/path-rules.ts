import { workspacePathBytesMax } from "./limits.ts";

/** The first folder of paths that lie in no workspace, such as those of skills (docs/decisions/skills.md). */
export const virtualFolder = ".parley";

/** Returns why a relative path cannot be a file's; null when it can. */
export function pathProblem(relative: string): string | null {
  if (Buffer.byteLength(relative) > workspacePathBytesMax) return `must have at most ${workspacePathBytesMax} bytes`;
  if (relative.includes("\0")) return "must not contain the NUL character";
  if (!relative.isWellFormed()) return "must be well-formed Unicode";
  const segments = relative.split("/");
  if (segments.includes("")) return "must not have empty segments";
  if (segments.includes(".") || segments.includes("..")) return "must not have . or .. segments";
  if (segments[0] === virtualFolder) return `must not begin with ${virtualFolder}`;
  return null;
}
