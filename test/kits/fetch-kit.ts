import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Fetches a package from the registry into a folder of its own, outside of this tree,
 * unless it is there from before. `spec` is its name with a version. Returns the folder of
 * the package. Throws when it cannot be fetched.
 */
export async function fetchKit(spec: string): Promise<string> {
  const at = spec.lastIndexOf("@");
  const home = join(tmpdir(), "parley-kits", spec.replaceAll(/[^\w.-]/g, "_"));
  const folder = join(home, "node_modules", spec.slice(0, at));
  if (existsSync(folder)) return folder;
  mkdirSync(home, { recursive: true });
  const { status, stderr } = spawnSync("npm", ["install", "--prefix", home, "--ignore-scripts", spec], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${spec} cannot be fetched: ${stderr}`);
  return folder;
}
