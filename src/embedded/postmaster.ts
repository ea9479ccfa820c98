import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, rmSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { sleep, within } from "../kernel/async/wait.ts";
import { type Account, commandLine, runProgram } from "./account.ts";
import { isAlive, signalQuietly } from "./pid.ts";

/** A running server process. */
export interface Postmaster {
  /** Resolves when the process has ended: with the error when it could not be started, else with null. */
  readonly exited: Promise<Error | null>;
  /** Returns whether its pid file says that it accepts connections. */
  isReady(): Promise<boolean>;
  /** Ends it: disconnects the clients and writes a checkpoint. When that takes too long it is ended without one, and the next start recovers. */
  stop(): Promise<void>;
}

/** Time limit for a fast shutdown, which writes a checkpoint. */
const fastStopMs = 20_000;
/** Time limit after each further signal. */
const hardStopMs = 5_000;
/** How often it is checked whether a process of an earlier run has ended. */
const pollMs = 20;
const listProcessMs = 5_000;
/** The line of the pid file with the server's state, from 0. */
const stateLine = 7;

/** What ends a postmaster, the gentlest first: fast shutdown, immediate shutdown, none at all. */
const stopSteps = [
  { signal: "SIGINT", limitMs: fastStopMs },
  { signal: "SIGQUIT", limitMs: hardStopMs },
  { signal: "SIGKILL", limitMs: hardStopMs },
] as const;

/**
 * Ends the postmaster (`$1`) when standard input closes, which happens when the service ends, however it ends.
 * It signals only while the pid file (`$2`) names it: after that, the pid may belong to another process.
 */
const watchdogScript = `
named() { read -r pid <"$2" && [ "$pid" = "$1" ]; }
while read -r _; do :; done
named "$1" "$2" && kill -INT "$1" || exit 0
left=$3
while named "$1" "$2" && [ "$left" -gt 0 ]; do sleep 1; left=$((left - 1)); done
named "$1" "$2" && kill -QUIT "$1"
`;

/**
 * Starts a server. It gets its own session, because Ctrl-C in a terminal reaches the whole process group
 * and the service needs its database until it has drained. `logFile` is replaced. Returns the running process.
 */
export function startPostmaster(
  account: Account | null,
  program: string,
  args: readonly string[],
  data: string,
  logFile: string,
): Postmaster {
  const line = commandLine(account, program, args);
  // A file of an earlier run as root could not be opened by the home's owner, but can be removed.
  rmSync(logFile, { force: true });
  const output = openSync(logFile, "wx", 0o600);
  let child: ChildProcess;
  try {
    child = spawn(line.command, line.args, { ...line.options, stdio: ["ignore", output, output], detached: true });
  } finally {
    closeSync(output);
  }
  const exited = new Promise<Error | null>((resolve) => {
    child.once("error", resolve);
    child.once("exit", () => resolve(null));
  });
  // Neither process keeps the service alive: when the service ends without stopping the server, the watchdog does.
  child.unref();
  const watchdog = child.pid === undefined ? null : watch(account, child.pid, data);
  void exited.then(() => watchdog?.stdin?.end());
  return {
    exited,
    async isReady() {
      // Its pid comes first in the pid file; the last line is its state, padded with spaces.
      const lines = (await readPidFile(data)).split("\n");
      return Number(lines[0]) === child.pid && lines[stateLine]?.trim() === "ready";
    },
    async stop() {
      for (const { signal, limitMs } of stopSteps) {
        child.kill(signal);
        if (await happensWithin(exited, limitMs)) return;
      }
    },
  };
}

/**
 * Ends a server that an earlier run left on this data folder, and removes a pid file that would keep a new one
 * from starting. The caller holds the home's lock, so no running service owns that server. Throws when it does not end.
 */
export async function removeOrphan(data: string, log: (message: string) => void): Promise<void> {
  const pid = await readPid(data);
  if (pid === null) return;
  if (!(await isPostmaster(pid, data))) {
    // Postgres takes any running process with this pid for the old server. Whether an old backend is left it finds
    // out in another way: by the shared memory that belongs to the data folder.
    if (isAlive(pid)) await rm(join(data, "postmaster.pid"), { force: true });
    return;
  }
  log(`Stopping the Postgres that an earlier run left behind (pid ${pid}).`);
  for (const { signal, limitMs } of stopSteps) {
    signalQuietly(pid, signal);
    const limit = Date.now() + limitMs;
    while (Date.now() < limit) {
      if (!(await isPostmaster(pid, data))) return;
      await sleep(pollMs);
    }
  }
  throw new Error(`The Postgres of an earlier run (pid ${pid}) does not end. End it, then start again.`);
}

function watch(account: Account | null, pid: number, data: string): ChildProcess {
  const args = ["-c", watchdogScript, "sh", String(pid), join(data, "postmaster.pid"), String(fastStopMs / 1000)];
  const line = commandLine(account, "/bin/sh", args);
  const watchdog = spawn(line.command, line.args, {
    ...line.options,
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  // The service starts without a watchdog too: the next start ends a server that is left over.
  watchdog.on("error", () => {});
  watchdog.stdin.on("error", () => {});
  watchdog.unref();
  return watchdog;
}

function happensWithin(event: Promise<unknown>, limitMs: number): Promise<boolean> {
  return within(
    event.then(() => true),
    limitMs,
    () => false,
  );
}

function readPidFile(data: string): Promise<string> {
  return readFile(join(data, "postmaster.pid"), "utf8").catch(() => "");
}

async function readPid(data: string): Promise<number | null> {
  const pid = Number.parseInt(await readPidFile(data), 10);
  return pid > 1 ? pid : null;
}

/** Returns whether the process with this pid is a server on this data folder, by its command line: pids are reused. */
async function isPostmaster(pid: number, data: string): Promise<boolean> {
  const words =
    process.platform === "linux"
      ? await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")
      : (await runProgram(null, "/bin/ps", ["-o", "args=", "-p", String(pid)], listProcessMs)).output
          .replaceAll(" -D ", "\0-D\0")
          .replaceAll(" -p ", "\0-p\0");
  return words.includes(`\0-D\0${data}\0`);
}
