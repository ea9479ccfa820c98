import { spawnSync } from "node:child_process";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { printLine } from "../figures.ts";
import type { Peer } from "./systems.ts";

/** npm, and the build of a peer, each have this long. */
const runMs = 600_000;

/** Installs a peer's packages and its server into a folder that git ignores, unless they are there. Returns it. */
export async function installPeer(peer: Peer): Promise<string> {
  const { name, app } = peer;
  const folder = join(import.meta.dirname, "../results/peers", name);
  await mkdir(folder, { recursive: true });
  const source = join(import.meta.dirname, app === undefined ? `${name}.mjs` : name);
  await cp(source, app === undefined ? join(folder, "server.mjs") : folder, { recursive: true });
  await installPackages(folder, peer);
  if (app === undefined) return folder;
  await rm(join(folder, app.store), { recursive: true, force: true });
  run(nodeOf(folder), app.build, folder, app.env);
  return folder;
}

/** The Node that is installed with a peer. */
export function nodeOf(folder: string): string {
  return join(folder, "node_modules/.bin/node");
}

async function installPackages(folder: string, { packages }: Peer): Promise<void> {
  const wanted = JSON.stringify(packages);
  const installed = join(folder, "installed.json");
  if ((await readFile(installed, "utf8").catch(() => "")) === wanted) return;
  printLine(`installing ${packages.join(" ")}`);
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const args = ["install", "--save-exact", "--no-audit", "--no-fund", "--loglevel=error", ...packages];
  run("npm", args, folder);
  await writeFile(installed, wanted);
}

function run(program: string, args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}): void {
  const { status } = spawnSync(program, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "inherit"],
    timeout: runMs,
  });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}`);
}
