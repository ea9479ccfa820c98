import { chown, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runProgram } from "./account.ts";
import { makeOwnFolder, type Place } from "./place.ts";

/** The database's owner, and the only account in it. */
export const userName = "parley";
export const databaseName = "parley";

/** Time limit for making a cluster, which takes half a second on a fast disk. */
const initialiseMs = 120_000;

/**
 * Makes the data folder: UTF-8, ordered by code point, password required. It is made under another name and
 * renamed when it is complete, so that a start that is killed here leaves nothing that a later one could take for data.
 */
export async function initialiseCluster(place: Place, initdb: string, fast: boolean): Promise<void> {
  const partial = `${place.data}.partial`;
  const passwordFile = join(place.folder, "initdb-password");
  await makeOwnFolder(partial, place.account);
  try {
    await writeFile(passwordFile, `${place.password}\n`, { mode: 0o600 });
    if (place.account !== null) await chown(passwordFile, place.account.uid, place.account.gid);
    const args = [`--pgdata=${partial}`, `--username=${userName}`, `--pwfile=${passwordFile}`, "--auth=scram-sha-256"];
    args.push("--locale=C", "--encoding=UTF8", "--no-instructions", ...(fast ? ["--no-sync"] : []));
    const { status, output } = await runProgram(place.account, initdb, args, initialiseMs);
    if (status !== 0)
      throw new Error(
        `Cannot make a database in ${place.folder}: ${/error: (.*)/.exec(output)?.[1] ?? output.slice(-500)}`,
      );
    await rename(partial, place.data);
  } finally {
    await rm(passwordFile, { force: true });
    await rm(partial, { recursive: true, force: true });
  }
}
