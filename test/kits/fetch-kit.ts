import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What a `package.json` asks the registry for. */
interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly overrides?: Readonly<Record<string, string>>;
}

/**
 * Fetches a package from the registry into a folder of its own, outside of this tree,
 * unless it is there from before. `spec` is its name with a version. Returns the folder of
 * the package. Throws when it cannot be fetched.
 */
export async function fetchKit(spec: string): Promise<string> {
  const at = spec.lastIndexOf("@");
  const [name, version] = [spec.slice(0, at), spec.slice(at + 1)];
  return join(await fetchPackages(spec, { dependencies: { [name]: version } }), "node_modules", name);
}

/** Fetches packages in the same way, into a folder that is named after `title` and the manifest. Returns that folder. */
export async function fetchPackages(title: string, manifest: Manifest): Promise<string> {
  const text = JSON.stringify({ private: true, ...manifest });
  const home = join(tmpdir(), "parley-kits", `${title.replaceAll(/[^\w.-]/g, "_")}-${Bun.hash(text).toString(36)}`);
  const done = join(home, "fetched");
  if (existsSync(done)) return home;
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "package.json"), text);
  const { status, stderr } = spawnSync("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: home,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${title} cannot be fetched: ${stderr}`);
  writeFileSync(done, "");
  return home;
}
