import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const source = join(import.meta.dirname, "k6");
const compiler = join(import.meta.dirname, "../node_modules/typescript/lib/tsc.js");
/** What a k6 of 2024 understands, which knows neither modules nor `??` without help. */
const spoken = ["--module", "commonjs", "--target", "es2019", "--esModuleInterop", "--allowJs"];

/** Writes the k6 scripts into a folder in a form that older releases of k6 run too. */
export async function compileScripts(folder: string): Promise<void> {
  const files = (await readdir(source)).filter((name) => name.endsWith(".js")).map((name) => join(source, name));
  const args = [...spoken, "--ignoreConfig", "--noCheck", "--outDir", folder, ...files];
  await promisify(execFile)(process.execPath, [compiler, ...args]);
}
