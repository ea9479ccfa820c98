import { readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/** A lock that this process holds until it releases it or dies. */
export interface Lock {
  release(): void;
}

/** Keeps the handles reachable: a collected one would close, and closing lets go of the lock. */
const held = new Set<DatabaseSync>();

/**
 * Takes the lock of a folder, so that one process uses it at a time. Throws at once when another process has
 * it, naming that process.
 *
 * The lock is SQLite's lock on an empty file, because that is the one kernel lock which both runtimes offer:
 * it dies with its process, however that ends, and never mistakes a stranger with a reused pid for the owner.
 * The pid file beside it is only for the message.
 */
export function lockFolder(folder: string): Lock {
  const pidFile = `${folder}/service.pid`;
  const handle = openLockFile(`${folder}/service.lock`);
  try {
    handle.exec("pragma busy_timeout = 0; begin exclusive");
  } catch (error) {
    handle.close();
    if (!/locked/.test(String(error))) throw new Error(`Cannot lock ${folder}: ${(error as Error).message}`);
    throw new Error(`Another instance is using ${folder}${holder(pidFile)}. Stop it, or choose another PARLEY_HOME.`);
  }
  held.add(handle);
  writeFileSync(pidFile, `${process.pid}\n`);
  return {
    release() {
      if (held.delete(handle)) handle.close();
    },
  };
}

function openLockFile(file: string): DatabaseSync {
  try {
    return new DatabaseSync(file);
  } catch (error) {
    throw new Error(`Cannot open ${file}: ${(error as Error).message}. Does the folder belong to another account?`);
  }
}

function holder(pidFile: string): string {
  try {
    return ` (pid ${readFileSync(pidFile, "utf8").trim()})`;
  } catch {
    return "";
  }
}
