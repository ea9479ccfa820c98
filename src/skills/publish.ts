import { lstat, readdir, readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { AnySql } from "../kernel/database/client.ts";
import { tx } from "../kernel/database/transaction.ts";
import { ApiError } from "../kernel/errors.ts";
import type { IdOf } from "../kernel/ids.ts";
import { insertLibrarySkill, type LibraryContent, replaceContent } from "./library.ts";
import { readManifest } from "./manifest.ts";
import { entryPath, isSystemPath } from "./paths.ts";
import { filesPerSkillMax, manifestPath, type SkillFolder, skillBytesMax } from "./schema.ts";

/** A folder that cannot be a skill. Its message is one line for the operator. */
export class FolderError extends Error {
  override readonly name = "FolderError";
}

/** An arbitrary number: a publishing transaction holds this advisory lock, so that a name is published once. */
const publishLock = 6_203_117;

/** A skill as it was published. */
export interface Published {
  readonly skillId: IdOf<"skill">;
  readonly name: string;
  readonly version: number;
}

/** Publishes a folder as a new platform skill, or as the next version of the platform skill with its name. */
export function publishSkill(sql: AnySql, content: LibraryContent): Promise<Published> {
  const { name } = content.manifest;
  return tx(sql, async (inner) => {
    await inner`select pg_advisory_xact_lock(${publishLock})`;
    const [known] = await inner<{ id: IdOf<"skill">; version: number }[]>`
      select id, version from library_skills where tenant_id is null and name = ${name} for update`;
    if (known === undefined) {
      const skillId = await insertLibrarySkill(inner, null, content, { userId: "", metadata: {} });
      return { skillId, name, version: 1 };
    }
    await replaceContent(inner, known.id, known.version + 1, content);
    return { skillId: known.id, name, version: known.version + 1 };
  });
}

/** Returns a skill's folder from the disk, checked by the rules for an archive. Throws `FolderError`. */
export async function readSkillFolder(path: string): Promise<LibraryContent> {
  try {
    const folder = await collect(path);
    return { filename: basename(resolve(path)), folder, manifest: readManifest(folder.get(manifestPath)) };
  } catch (error) {
    if (error instanceof ApiError) throw new FolderError(error.message);
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") throw new FolderError(`There is no folder ${path}.`);
    if (code === "EACCES" || code === "EPERM") throw new FolderError(`The folder ${path} cannot be read.`);
    throw error;
  }
}

async function collect(root: string): Promise<SkillFolder> {
  const folder = new Map<string, Uint8Array>();
  let bytes = 0;
  for await (const name of filesIn(root, "")) {
    const path = entryPath(name);
    if (path === null || isSystemPath(path)) continue;
    if (folder.size === filesPerSkillMax) throw new FolderError(`A skill has at most ${filesPerSkillMax} files.`);
    bytes += (await lstat(join(root, name))).size;
    if (bytes > skillBytesMax) throw new FolderError(`A skill weighs at most ${skillBytesMax} bytes.`);
    folder.set(path, await readFile(join(root, name)));
  }
  if (!folder.has(manifestPath)) throw new FolderError(`The folder has no ${manifestPath}.`);
  return folder;
}

async function* filesIn(root: string, below: string): AsyncIterable<string> {
  for (const entry of await readdir(join(root, below), { withFileTypes: true })) {
    const name = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) yield* filesIn(root, name);
    else if (entry.isFile()) yield name;
    else throw new FolderError(`${name} is a link or a special file.`);
  }
}
