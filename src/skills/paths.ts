import { invalid } from "../kernel/errors.ts";
import { invalidArchive } from "./entry.ts";
import { skillPathBytesMax } from "./schema.ts";

/** Returns what is wrong with a file's path relative to a skill's root; null when it is valid. */
function faultOf(path: string): string | null {
  if (path === "") return "must not be empty";
  if (path.includes("\0")) return "must not contain the NUL character";
  if (!path.isWellFormed()) return "must be well-formed Unicode";
  if (path.includes("\\")) return "must be separated by /";
  if (path.startsWith("/") || /^[A-Za-z]:\//.test(path)) return "must be relative to the skill's root";
  const segments = path.split("/");
  if (segments.includes("..") || segments.includes(".")) return "must not contain . or ..";
  if (segments.includes("")) return "must not contain an empty name";
  return Buffer.byteLength(path) > skillPathBytesMax ? `must have at most ${skillPathBytesMax} bytes` : null;
}

/** Returns the `path` query field of a file operation. Throws 400 naming it when it is not valid. */
export function checkFilePath(path: string): string {
  const fault = faultOf(path);
  if (fault !== null) throw invalid("path", fault);
  return path;
}

/**
 * Returns the path that an archive's entry stands for, without `./` at its start and
 * `/` at its end. Null for the root itself, which some write as `/`. Throws 400
 * `skill_invalid_archive`.
 */
export function entryPath(name: string): string | null {
  if (name === "/") return null;
  const path = name.replace(/^(?:\.\/+)+/, "").replace(/\/$/, "");
  if ((path === "" && name !== "" && !name.startsWith("/")) || path === ".") return null;
  const fault = faultOf(path);
  if (fault === null) return path;
  throw invalidArchive(`its path ${fault}`, name);
}

/** What macOS and Windows put beside people's files, in lower case; with `._` before its name, a file holds another one's attributes. */
const systemNames = new Set([
  "__macosx",
  ".ds_store",
  ".appledouble",
  ".spotlight-v100",
  ".trashes",
  ".fseventsd",
  "icon\r",
  "thumbs.db",
  "ehthumbs.db",
  "desktop.ini",
  "$recycle.bin",
  "system volume information",
]);

/** Whether a path is one that an operating system added by itself. */
export function isSystemPath(path: string): boolean {
  return path.split("/").some((name) => name.startsWith("._") || systemNames.has(name.toLowerCase()));
}
