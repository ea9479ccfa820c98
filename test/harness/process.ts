import { type ChildProcess, spawn } from "node:child_process";
import { eventually } from "./eventually.ts";
import { repository } from "./repository.ts";
import { roleCommand } from "./runtimes.ts";

/** A role of the service as a process of its own. */
export interface Child {
  readonly process: ChildProcess;
  /** Everything printed so far. */
  stdout(): string;
  stderr(): string;
  /** Waits until standard output matches, and returns the match. Throws with what was printed when the process ends first. */
  prints(pattern: RegExp): Promise<RegExpExecArray>;
  /** Waits for the end and returns the exit status; null when a signal ended it. */
  ended(limitMs?: number): Promise<number | null>;
  /** Ends it, whatever it does. */
  kill(): Promise<void>;
}

/** A process starts, initialising a database included, within this. */
const startMsMax = 60_000;
/** The environment of a child is what a test gives, and what any program needs. */
const inherited = ["PATH", "HOME", "TMPDIR", "LANG"];

/** Starts `program` in the repository with an environment of its own. */
export function startProcess(program: string, words: readonly string[], env: Record<string, string>): Child {
  const base = Object.fromEntries(inherited.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
  const child = spawn(program, words, {
    cwd: repository,
    env: { ...base, ...env } as NodeJS.ProcessEnv,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed = { stdout: "", stderr: "" };
  child.stdout.on("data", (data: Buffer) => {
    printed.stdout += data.toString();
  });
  child.stderr.on("data", (data: Buffer) => {
    printed.stderr += data.toString();
  });
  let status: number | null | undefined;
  const closed = new Promise<number | null>((resolve) =>
    child.once("close", (code) => {
      status = code;
      resolve(code);
    }),
  );
  return {
    process: child,
    stdout: () => printed.stdout,
    stderr: () => printed.stderr,
    prints: (pattern) =>
      eventually(() => {
        const match = pattern.exec(printed.stdout);
        if (match === null && status !== undefined)
          throw new Error(`It ended with ${status}:\n${printed.stdout}${printed.stderr}`);
        return match;
      }, startMsMax),
    ended: async (limitMs = startMsMax) => {
      await eventually(() => status !== undefined, limitMs);
      return closed;
    },
    kill: async () => {
      if (status === undefined) child.kill("SIGKILL");
      await closed;
    },
  };
}

/** Starts a role on the runtime that this run is for. */
export function startRole(role: string, env: Record<string, string>, words: readonly string[] = []): Child {
  const command = roleCommand(role, env);
  return startProcess(command.program, [...command.words, ...words], { NO_COLOR: "1", ...env });
}
