import { spawn } from "node:child_process";
import { chown, readFile, stat } from "node:fs/promises";

/** The account a program runs as, by its numbers. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** How a short program ended. */
export interface Outcome {
  /** The exit status; null when a signal ended it. */
  readonly status: number | null;
  /** The end of what it printed, on both streams. */
  readonly output: string;
}

/** This much of a short program's output is kept, in characters: enough for its last error. */
const outputLengthMax = 16_384;
/** Unprivileged accounts that may run Postgres for root, in order of preference. */
const accountNames = ["postgres", "nobody"];

/** Returns whether this process is root; Postgres refuses to run as root. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * Returns the account that runs Postgres when this process is root: the owner of the home when it is an ordinary
 * account, else `postgres`, else `nobody`. Only accounts of `/etc/passwd` count, because initdb reads its own
 * account's entry there. Throws when there is none.
 */
export async function chooseAccount(homeOwnerUid: number): Promise<Account> {
  const known = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  const fields =
    known.find(([, , uid]) => homeOwnerUid !== 0 && Number(uid) === homeOwnerUid) ??
    accountNames.map((name) => known.find((entry) => entry[0] === name)).find((entry) => entry !== undefined);
  if (fields === undefined) {
    throw new Error(
      `Postgres does not run as root, and /etc/passwd has no account ${accountNames.join(" or ")} to run it as.`,
    );
  }
  // Some systems write the account `nobody` with the number -2.
  return { uid: Number(fields[2]) >>> 0, gid: Number(fields[3]) >>> 0 };
}

/** Makes a file belong to the owner of the folder it is for when this process is root, so that the owner can use it later without root. */
export async function giveToOwner(folder: string, path: string): Promise<void> {
  if (!isRoot()) return;
  const { uid, gid } = await stat(folder);
  if (uid !== 0) await chown(path, uid, gid);
}

/**
 * Returns the arguments for `spawn` that run a program as `account` (null: this process's own) with its own
 * environment. `env -i` clears the service's environment, which holds secrets and may hold variables that
 * configure Postgres. Passing `env` to `spawn` is not enough, because Deno adds it to the inherited one.
 */
export function commandLine(account: Account | null, program: string, args: readonly string[]) {
  const environment = ["PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"];
  return {
    command: "/usr/bin/env",
    args: ["-i", ...environment, program, ...args],
    // The account may be unable to enter the folder this process runs in.
    options: { cwd: "/", ...(account ?? {}) },
  };
}

/** Runs a short program to its end, and kills it after `limitMs`. Returns how it ended; throws when it cannot be started. */
export function runProgram(
  account: Account | null,
  program: string,
  args: readonly string[],
  limitMs: number,
): Promise<Outcome> {
  const line = commandLine(account, program, args);
  return new Promise((resolve, reject) => {
    const child = spawn(line.command, line.args, {
      ...line.options,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    let output = "";
    const collect = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-outputLengthMax);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    const limit = setTimeout(() => child.kill("SIGKILL"), limitMs);
    child.once("error", (error) => {
      clearTimeout(limit);
      reject(new Error(`Cannot run ${program}${account === null ? "" : ` as user ${account.uid}`}: ${error.message}`));
    });
    child.once("close", (status) => {
      clearTimeout(limit);
      resolve({ status, output: output.trim() });
    });
  });
}
