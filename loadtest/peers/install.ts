import { spawnSync } from "node:child_process";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { printLine } from "../figures.ts";
import type { Peer } from "./systems.ts";

/** Installs a peer's packages and its server into a folder that git ignores, unless they are there. Returns it. */
export async function installPeer({ name, packages }: Peer): Promise<string> {
  const folder = join(import.meta.dirname, "../results/peers", name);
  await mkdir(folder, { recursive: true });
  await copyFile(join(import.meta.dirname, `${name}.mjs`), join(folder, "server.mjs"));
  const wanted = JSON.stringify(packages);
  const installed = join(folder, "installed.json");
  if ((await readFile(installed, "utf8").catch(() => "")) === wanted) return folder;
  printLine(`installing ${packages.join(" ")}`);
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const args = ["install", "--save-exact", "--no-audit", "--no-fund", "--loglevel=error", ...packages];
  const { status } = spawnSync("npm", args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) throw new Error(`npm ${args.join(" ")} ended with ${status}`);
  await writeFile(installed, wanted);
  return folder;
}
