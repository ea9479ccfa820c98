import { access, constants, readFile, rm, writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { sleep } from "../kernel/async/wait.ts";
import { giveToOwner } from "./account.ts";

/** A lock that this process holds until it releases it or ends. */
export interface Lock {
  release(): Promise<void>;
}

/** A lock that is held is tried this long before it is refused: a killed holder needs a moment to be gone, and a new one to write its pid. */
const graceMs = 500;
const pollMs = 20;

/** Keeps the handles reachable: a garbage-collected one would be closed, and closing releases the lock. */
const held = new Set<DatabaseSync>();

/**
 * Takes the lock of a folder, so that one process uses it at a time, and returns it. Throws after half a second when another
 * process has it, naming that process.
 *
 * The lock is SQLite's lock on an empty file, because that is the only lock of the operating system which both runtimes
 * offer: it ends with its process, however that ends, and another process with a reused pid is never taken for the holder.
 * The pid file beside it is only for the message.
 */
export async function lockFolder(folder: string): Promise<Lock> {
  const [lockFile, pidFile] = [`${folder}/service.lock`, `${folder}/service.pid`];
  await makeLockFile(folder, lockFile);
  const handle = new DatabaseSync(lockFile);
  try {
    for (const limit = Date.now() + graceMs; !tryLock(handle); await sleep(pollMs)) {
      if (Date.now() > limit) {
        const pid = (await readFile(pidFile, "utf8").catch(() => "unknown")).trim();
        throw new Error(`Another instance is using ${folder} (pid ${pid}). Stop it, or choose another PARLEY_HOME.`);
      }
    }
    await rm(pidFile, { force: true });
    await writeFile(pidFile, `${process.pid}\n`, { flag: "wx" });
  } catch (error) {
    handle.close();
    throw error;
  }
  held.add(handle);
  return {
    async release() {
      if (!held.delete(handle)) return;
      await rm(pidFile, { force: true });
      handle.close();
    },
  };
}

/** Returns whether the lock was taken; false when another process has it. */
function tryLock(handle: DatabaseSync): boolean {
  try {
    // `immediate` takes a lock that is granted to a single process in one step; `exclusive` takes it in several,
    // and two processes at the same step refuse each other. Nothing is written, so no journal file is needed.
    handle.exec("pragma busy_timeout = 0; pragma journal_mode = memory; begin immediate");
    return true;
  } catch (error) {
    if (/locked/.test(String(error))) return false;
    throw error;
  }
}

/** Makes the file if it is absent, and throws when it cannot be written: SQLite would open one that it can only read. */
async function makeLockFile(folder: string, file: string): Promise<void> {
  try {
    // An existing file is not opened: closing it again would release a lock that this same process holds.
    await writeFile(file, "", { mode: 0o600, flag: "wx" }).catch(() => access(file, constants.W_OK));
    await giveToOwner(folder, file);
  } catch (error) {
    throw new Error(
      `Cannot write in ${folder}: ${(error as Error).message}. Choose another PARLEY_HOME, or its owner's account.`,
    );
  }
}
