import { type ChildProcess, spawn } from "node:child_process";
import { within } from "../../kernel/async/wait.ts";
import { holderReadyMs } from "./limits.ts";
import { systemEnvironment } from "./system-environment.ts";

/**
 * The users that `/etc/subuid` and `/etc/subgid` give to this process's user: a process that has them, in a user namespace
 * whose root it is. It ends with its standard input, so with this process.
 */
export class SubordinateUsers {
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess) {
    this.#process = process;
  }

  /** Starts it; null where the user has none, or `newuidmap` is not installed. */
  static async start(): Promise<SubordinateUsers | null> {
    const words = [
      "--pdeathsig",
      "KILL",
      "unshare",
      "--user",
      "--map-root-user",
      "--map-auto",
      "sh",
      "-c",
      "echo ready; read -r _",
    ];
    const child = spawn("setpriv", words, { env: systemEnvironment, cwd: "/", stdio: ["pipe", "pipe", "ignore"] });
    const ready = new Promise<boolean>((resolve) => {
      child.once("error", () => resolve(false));
      child.once("close", () => resolve(false));
      child.stdout.on("data", () => resolve(true));
    });
    child.stdin.on("error", () => {});
    if (await within(ready, holderReadyMs, () => false)) return new SubordinateUsers(child);
    child.kill("SIGKILL");
    return null;
  }

  get pid(): number {
    return this.#process.pid as number;
  }

  /** Words that make a program root of the namespace. */
  enter(): readonly string[] {
    return ["nsenter", "--target", String(this.pid), "--user", "--setuid", "0", "--setgid", "0"];
  }

  end(): void {
    this.#process.kill("SIGKILL");
  }
}
