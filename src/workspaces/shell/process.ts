import { type ChildProcess, execFile, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { runtimeConfinesScripts, scriptCommand } from "../../kernel/runtime.ts";
import type { Logger } from "../../kernel/telemetry/log.ts";
import { processCpuSecondsMax } from "../limits.ts";
import { codeFolders } from "./code-folders.ts";

const confine = new URL("./confine.ts", import.meta.url);
const child = new URL("./child.ts", import.meta.url);
/** The check for a fence is a process that ends at once; a busy machine takes seconds to start one. */
const checkMs = 30_000;

/**
 * Starts the process of a command or search: without environment, with a CPU limit, so
 * that the system ends it when this worker is killed, and where it can be, kept from
 * the files of the machine: by the runtime's permissions, or by Landlock (`confine.ts`).
 */
export function startProcess(): ChildProcess {
  const { command, args } = runtimeConfinesScripts
    ? scriptCommand(child, codeFolders())
    : confinedCommand(fileURLToPath(child.href));
  const bounded = ["-c", `ulimit -t ${processCpuSecondsMax}; exec "$0" "$@"`, command, ...args];
  return spawn("/bin/sh", bounded, { env: {}, cwd: "/", stdio: ["pipe", "pipe", "ignore"] });
}

/** Returns the command of a process that confines itself and then runs a script; `-` is one that it reads from its standard input. */
export function confinedCommand(script: string): { command: string; args: string[] } {
  const { command, args } = scriptCommand(confine);
  return { command, args: [...args, script] };
}

/** Says in the log, once for this worker, when the processes of commands are not kept from the files of the machine. */
export async function warnIfUnconfined(log: Logger): Promise<void> {
  if (runtimeConfinesScripts) return;
  const { command, args } = confinedCommand("check");
  const checked = await promisify(execFile)(command, args, { env: {}, cwd: "/", timeout: checkMs }).catch(() => null);
  if (checked?.stdout === "confined") return;
  log.warn("this system has no Landlock: the processes of workspaces' commands can read what this process's user can");
}
