import { isRole, roles } from "../kernel/auth/roles.ts";
import type { GroupRole } from "../members/groups.ts";
import { UsageError, type Values } from "./command.ts";

/** A group's name has at most this many characters. */
const groupCharactersMax = 256;

/** Returns what the options `--group NAME=ROLE` say; `none` takes a group's role away. A name may have an `=` itself. Throws `UsageError`. */
export function readGroups(values: Values): GroupRole[] {
  const words = [values.group ?? []].flat();
  const given = words.map((word) => readGroup(String(word)));
  if (new Set(given.map(([name]) => name)).size < given.length) throw new UsageError("--group names a group twice.");
  return given;
}

function readGroup(word: string): GroupRole {
  const at = word.lastIndexOf("=");
  const [name, role] = [word.slice(0, Math.max(0, at)), word.slice(at + 1)];
  const isName = name !== "" && [...name].length <= groupCharactersMax && name.isWellFormed() && !/\p{Cc}/u.test(name);
  if (!isName) throw new UsageError("--group must have the shape NAME=ROLE.");
  if (role === "none") return [name, null];
  if (!isRole(role)) throw new UsageError(`--group must name one of the roles ${roles.join(", ")}, or none.`);
  return [name, role];
}
