import { type ChildProcess, spawn } from "node:child_process";

/** A program of a benchmark, and what it prints when it is there. */
export interface Program {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Beside the environment of the script. */
  readonly env: Readonly<Record<string, string>>;
  readonly ready: RegExp;
}

/** A program has this long to say that it is there, on a busy machine. */
const startMs = 60_000;

/** Starts a program and waits until it says that it is there. Returns what it said. */
export async function launchProgram({ program, args, cwd, env, ready }: Program) {
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "inherit"] });
  const match = await new Promise<RegExpExecArray>((resolve, reject) => {
    let said = "";
    const limit = setTimeout(() => reject(new Error(`${args.join(" ")} did not start: ${said}`)), startMs);
    const check = () => {
      const found = ready.exec(said);
      if (found === null) return;
      clearTimeout(limit);
      resolve(found);
    };
    child.stdout.on("data", (data: Buffer) => {
      if (said.length < 10_000) said += data.toString();
      check();
    });
    child.once("exit", (code) => reject(new Error(`${args.join(" ")} ended with ${code}: ${said}`)));
    check();
  });
  return { child, match };
}

/** Ends a program. Resolves to its exit code once it is gone; null where a signal killed it. */
export async function stopProgram(child: ChildProcess, signal: "SIGKILL" | "SIGTERM"): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await gone;
  }
  return child.exitCode;
}
