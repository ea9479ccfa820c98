import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { giveToOwner } from "../embedded/account.ts";
import { OperatorError, reasonOf } from "./operator-error.ts";

/** Returns the text of a file of the home; null when there is none. Throws `OperatorError` when it cannot be read. */
export async function readKept(home: string, name: string): Promise<string | null> {
  const file = join(home, name);
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new OperatorError(`Cannot read ${file}: ${reasonOf(error)}.`);
  }
}

/**
 * Writes a file in the home that only its owner reads. It is written under another name and renamed when it is
 * complete, so that a kill leaves the old file or the new one. Throws `OperatorError` when it cannot be written.
 */
export async function keep(home: string, name: string, text: string): Promise<void> {
  const file = join(home, name);
  const partial = `${file}.new`;
  try {
    await mkdir(home, { recursive: true });
    await rm(partial, { force: true });
    await writeFile(partial, text, { mode: 0o600, flag: "wx" });
    await giveToOwner(home, partial);
    await rename(partial, file);
  } catch (error) {
    throw new OperatorError(`Cannot write ${file}: ${reasonOf(error)}. Choose another PARLEY_HOME.`);
  }
}

/** Removes a file of the home, if it is there. */
export async function forget(home: string, name: string): Promise<void> {
  await rm(join(home, name), { force: true });
}
