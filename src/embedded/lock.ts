import { access, constants, readFile, rm, writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { giveToOwner } from "./account.ts";
import { isAlive } from "./pid.ts";

/** A lock that this process holds until it releases it or dies. */
export interface Lock {
  release(): Promise<void>;
}

/** The holder of a lock gets this long to write its pid down, for the message to name it. */
const holderMs = 1_000;
const pollMs = 20;

/** Keeps the handles reachable: a collected one would close, and closing lets go of the lock. */
const held = new Set<DatabaseSync>();

/**
 * Takes the lock of a folder, so that one process uses it at a time. Throws without waiting for it when another
 * process has it, naming that process.
 *
 * The lock is SQLite's lock on an empty file, because that is the one kernel lock which both runtimes offer:
 * it dies with its process, however that ends, and never mistakes a stranger with a reused pid for the holder.
 * The pid file beside it is only for the message.
 */
export async function lockFolder(folder: string): Promise<Lock> {
  const [lockFile, pidFile] = [`${folder}/service.lock`, `${folder}/service.pid`];
  await makeLockFile(folder, lockFile);
  const handle = new DatabaseSync(lockFile);
  try {
    // `immediate` takes the one lock that is granted to a single process at the first try. `exclusive` takes it
    // in steps, and two processes in step refuse each other.
    // The journal would be a file beside the lock, to be cleaned up after a crash, and nothing is ever written.
    handle.exec("pragma busy_timeout = 0; pragma journal_mode = memory; begin immediate");
  } catch (error) {
    handle.close();
    if (!/locked/.test(String(error))) throw new Error(`Cannot lock ${folder}: ${(error as Error).message}`);
    const pid = await findHolder(pidFile);
    throw new Error(
      `Another instance is using ${folder}${pid === null ? "" : ` (pid ${pid})`}. Stop it, or choose another PARLEY_HOME.`,
    );
  }
  held.add(handle);
  await rm(pidFile, { force: true });
  await writeFile(pidFile, `${process.pid}\n`, { flag: "wx" });
  return {
    async release() {
      if (!held.delete(handle)) return;
      await rm(pidFile, { force: true });
      handle.close();
    },
  };
}

/** Makes the file if need be, and sees that it can be written: SQLite would go on with one that it can only read. */
async function makeLockFile(folder: string, file: string): Promise<void> {
  try {
    // An existing file is not opened: closing it again would let go of a lock that this very process holds.
    await writeFile(file, "", { mode: 0o600, flag: "wx" }).catch(() => access(file, constants.W_OK));
    await giveToOwner(folder, file);
  } catch (error) {
    throw new Error(
      `Cannot write in ${folder}: ${(error as Error).message}. Choose another PARLEY_HOME, or its owner's account.`,
    );
  }
}

/** The pid of the lock's holder. One that is dead was left by an earlier holder, and the new one is about to replace it. */
async function findHolder(pidFile: string): Promise<number | null> {
  for (const limit = Date.now() + holderMs; Date.now() < limit; await sleep(pollMs)) {
    const pid = Number.parseInt(await readFile(pidFile, "utf8").catch(() => ""), 10);
    if (pid > 0 && isAlive(pid)) return pid;
  }
  return null;
}
