import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { inRepository } from "./repository.ts";

/** An installation that was started as a person does it, with `npm start`'s program. */
export interface Installation {
  readonly url: string;
  readonly apiKey: string;
  readonly agentId: string;
  stop(): Promise<void>;
}

/** Starts an installation with a home of its own, and reads what it prints. */
export async function startInstallation(settings: Readonly<Record<string, string>> = {}): Promise<Installation> {
  const home = await mkdtemp(join(tmpdir(), "parley-installation-"));
  const env = { ...process.env, PORT: "0", PARLEY_HOME: home, ...settings };
  const options = { cwd: inRepository("."), env, stdio: ["ignore", "pipe", "inherit"] };
  const child = spawn(process.execPath, ["src/main.ts", "start"], options as never);
  const printed: string[] = [];
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    printed.push(line);
    if (line.startsWith("Ctrl-C")) break;
  }
  const value = (name: string) => new RegExp(`^\\s+${name}\\s+(\\S+)`, "m").exec(printed.join("\n"))?.[1] ?? "";
  return {
    ...{ url: value("URL"), apiKey: value("API key"), agentId: value("Agent") },
    stop: async () => {
      child.kill("SIGTERM");
      await once(child, "exit");
      await rm(home, { recursive: true, force: true });
    },
  };
}
