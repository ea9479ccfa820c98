import { spawn } from "node:child_process";
import { eventually } from "./eventually.ts";
import { repository } from "./repository.ts";

/** A shell that keeps its variables and functions from one command to the next, as a person's terminal does. */
export interface Terminal extends AsyncDisposable {
  /** Runs a command and returns what it printed, errors included. */
  run(command: string): Promise<string>;
}

/** A command that follows a slow stream to its end takes no longer than this. */
const commandMsMax = 60_000;

/** Opens a `bash` in the repository. Pauses longer than `pauseMax` seconds are cut to that. */
export function openTerminal({ pauseMax }: { readonly pauseMax: number }): Terminal {
  const shell = spawn("bash", ["--noprofile", "--norc"], { cwd: repository, stdio: ["pipe", "pipe", "ignore"] });
  const closed = new Promise((resolve) => shell.once("close", resolve));
  let printed = "";
  shell.stdout.on("data", (data: Buffer) => {
    printed += data.toString();
  });
  shell.stdin.write(`exec 2>&1\nsleep() { command sleep $(($1 > ${pauseMax} ? ${pauseMax} : $1)); }\n`);
  let count = 0;
  return {
    async run(command) {
      const mark = `@@${++count}@@`;
      printed = "";
      shell.stdin.write(`${command}\nprintf '\\n%s\\n' ${mark}\n`);
      await eventually(() => printed.endsWith(`${mark}\n`), commandMsMax);
      return printed.slice(0, -mark.length - 2);
    },
    async [Symbol.asyncDispose]() {
      shell.kill("SIGKILL");
      await closed;
    },
  };
}
