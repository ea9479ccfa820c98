import { spawn } from "node:child_process";
import { chown, readFile, stat } from "node:fs/promises";

/** The account a program runs as, by its numbers. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** What a short program left behind. */
export interface Outcome {
  /** The exit status; null when a signal ended it. */
  readonly status: number | null;
  /** The end of what it printed, on both streams. */
  readonly output: string;
}

/** As much of a short program's output is kept, in characters: enough for its last error. */
const outputLengthMax = 16_384;
/** Unprivileged accounts that may run Postgres for root, the best first. */
const accountNames = ["postgres", "nobody"];

/** Whether this process is root, which Postgres refuses to run as. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * The account that runs Postgres when this process is root: the owner of the home when it is an ordinary
 * account, else `postgres`, else `nobody`. Only accounts of `/etc/passwd` count, because initdb looks its own
 * account up. Throws when there is none.
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

/** Run as root, gives a file to the owner of the folder it is for, so that the owner can go on with it later. */
export async function giveToOwner(folder: string, path: string): Promise<void> {
  if (!isRoot()) return;
  const { uid, gid } = await stat(folder);
  if (uid !== 0) await chown(path, uid, gid);
}

/**
 * The arguments for `spawn` that run a program as `account` (null: this process's own) with an environment
 * of its own. `env -i` clears the service's environment, which holds secrets and may hold variables that
 * steer Postgres; passing `env` to `spawn` would not do, because Deno adds it to the inherited one.
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

/** Runs a short program to its end, for at most `limitMs`. Throws when it cannot be started. */
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
