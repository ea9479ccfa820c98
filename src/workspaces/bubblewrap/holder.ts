import { type ChildProcess, spawn } from "node:child_process";
import { within } from "../../kernel/async/wait.ts";
import { holderReadyMs } from "./limits.ts";
import { holderScript } from "./scripts.ts";
import { type FilteredArchitecture, seccompFilter } from "./seccomp.ts";
import { systemEnvironment } from "./system-environment.ts";
import type { ProgramUsers } from "./users.ts";

/** Without its files of commands: bash reads them where its input is a socket, as it is on Bun. */
const shell = ["bash", "--noprofile", "--norc"];

/**
 * A process that has the name spaces of one workspace's folder. The folder is memory (tmpfs) that only these
 * have, so it is gone with the process, whatever ends that, and nothing of it was ever on a disk.
 */
export class Holder {
  /** Whom programs run as; null: this process's user. */
  readonly user: number | null;
  readonly #users: ProgramUsers;
  readonly #process: ChildProcess;
  #isAlive = true;

  private constructor(process: ChildProcess, users: ProgramUsers, user: number | null) {
    this.#process = process;
    this.#users = users;
    this.user = user;
    process.once("exit", () => {
      this.#isAlive = false;
    });
  }

  /** Starts one. Throws with what the system said when it cannot be. */
  static async start(users: ProgramUsers): Promise<Holder> {
    const user = users.next();
    const filter = [...seccompFilter(process.arch as FilteredArchitecture)].map(
      (byte) => `\\${byte.toString(8).padStart(3, "0")}`,
    );
    const words = ["unshare", "--user", "--map-root-user", "--mount", "--propagation", "private", ...shell, "-c"];
    const [command, ...args] = [...asUser(users, user), ...words, holderScript, "holder", filter.join("")];
    const child = spawn(command as string, args, { env: systemEnvironment, cwd: "/", stdio: ["pipe", "pipe", "pipe"] });
    let said = "";
    const ready = new Promise<boolean>((resolve) => {
      child.once("error", () => resolve(false));
      child.once("close", () => resolve(false));
      child.stdout.on("data", (piece) => {
        if (String(piece).includes("ready")) resolve(true);
      });
    });
    child.stderr.on("data", (piece) => {
      said = `${said}${piece}`.slice(0, 500);
    });
    child.stdin.on("error", () => {});
    const isReady = await within(ready, holderReadyMs, () => false);
    if (isReady) return new Holder(child, users, user);
    child.kill("SIGKILL");
    throw new Error(said.trim() || "it did not start");
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Starts a program in these name spaces, as their user. `args` are for bash. */
  spawn(args: readonly string[], stdio: readonly ("pipe" | "ignore")[]): ChildProcess {
    const enter = ["nsenter", "--target", String(this.#process.pid), "--user", "--mount", "--preserve-credentials"];
    const words = [
      ...asUser(this.#users, this.user),
      ...enter,
      "unshare",
      "--mount",
      "--propagation",
      "private",
      ...shell,
      ...args,
    ];
    const [command, ...rest] = words;
    return spawn(command as string, rest, { env: systemEnvironment, cwd: "/", stdio: [...stdio] });
  }

  /** Ends it, and with it the folder. */
  end(): void {
    this.#process.kill("SIGKILL");
  }
}

/** Words that make a program another user's, and end it with this process. */
function asUser(users: ProgramUsers, user: number | null): string[] {
  const other = user === null ? [] : ["--reuid", String(user), "--regid", String(user), "--clear-groups"];
  return [...users.enter(), "setpriv", "--pdeathsig", "KILL", ...other];
}
