/**
 * Builds the pages: `index.html` and its assets, whose names have their hash in them.
 * Bun bundles; `npm install` and `npm run build:console` run this, on Bun or Deno.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { digestSources, noteSources } from "./sources.ts";

const source = fileURLToPath(new URL("../console/index.html", import.meta.url).href);
const replaceAttemptsMax = 5;

/** Writes the pages into a folder, in place of what is there, with what they were built from. Throws with the bundler's words when it fails. */
export async function buildConsole(folder: string): Promise<void> {
  const made = `${folder}.${process.pid}`;
  // Before the bundler reads them: what is changed meanwhile is built at the next start.
  const digest = await digestSources();
  await mkdir(dirname(folder), { recursive: true });
  try {
    await bundle(made);
    await noteSources(made, digest);
    await replace(folder, made);
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}

/** Of two that build at once the later one is kept: between deleting and renaming the other may have renamed. */
async function replace(folder: string, made: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await rm(folder, { recursive: true, force: true });
    try {
      return await rename(made, folder);
    } catch (error) {
      if (attempt === replaceAttemptsMax || !existsSync(folder)) throw error;
    }
  }
}

function bundle(folder: string): Promise<void> {
  const names = ["--entry-naming", "[name].[ext]", "--chunk-naming", "assets/[name]-[hash].[ext]"];
  const options = [
    "--production",
    "--splitting",
    "--public-path",
    "/console/",
    "--asset-naming",
    "assets/[name]-[hash].[ext]",
  ];
  return new Promise((resolve, reject) => {
    const child = spawn(bunPath(), ["build", source, "--outdir", folder, ...names, ...options], {
      // Without it, a build with another NODE_ENV gets React as it is for development, twice as large.
      env: { NODE_ENV: "production" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let words = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      words += text;
    });
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve() : reject(new Error(`The console was not built: ${words}`))));
  });
}

/** Bun, also where this runs on another runtime. */
function bunPath(): string {
  if (basename(process.execPath).startsWith("bun")) return process.execPath;
  return join(dirname(createRequire(import.meta.url).resolve("bun/package.json")), "bin", "bun.exe");
}

if (import.meta.main) {
  const folder = fileURLToPath(new URL("../../dist/console", import.meta.url).href);
  await buildConsole(folder);
  const assets = await readdir(join(folder, "assets"));
  process.stdout.write(`dist/console: ${assets.length} assets\n`);
}
