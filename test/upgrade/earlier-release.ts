import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { repository } from "../harness/repository.ts";
import type { Elsewhere } from "../harness/service-process.ts";

/** The last commit of 0.2.0. */
const commitOf020 = "d7d81c6b96";

/** The code of an earlier release, with its own packages. */
export interface EarlierRelease {
  /** Starts the harness' processes with it. */
  readonly code: Elsewhere;
  /** Runs one of its commands to the end, and returns what it printed. Throws when it fails. */
  run(words: readonly string[], env: Readonly<Record<string, string>>): string;
}

/** Returns release 0.2.0, fetched from this repository's history and the registry unless it is there from before; null where the history does not go so far. */
export function fetch020(): EarlierRelease | null {
  const folder = join(tmpdir(), "parley-kits", `parley-${commitOf020}`);
  const done = join(folder, "fetched");
  if (!existsSync(done)) {
    const archive = spawnSync("git", ["archive", commitOf020], { cwd: repository, maxBuffer: 256 * 1024 * 1024 });
    if (archive.status !== 0) return null;
    mkdirSync(folder, { recursive: true });
    succeed("tar", ["-x"], { cwd: folder, input: archive.stdout });
    succeed("npm", ["install", "--omit=dev", "--no-audit", "--no-fund"], { cwd: folder });
    writeFileSync(done, "");
  }
  return {
    code: {
      address: "127.0.0.1",
      command: ({ program, words }) => ({ program: "env", words: ["-C", folder, program, ...words] }),
    },
    run: (words, env) =>
      succeed(process.execPath, ["src/main.ts", ...words], { cwd: folder, env: { ...process.env, ...env } }),
  };
}

function succeed(program: string, words: readonly string[], options: Parameters<typeof spawnSync>[2]): string {
  const { status, stdout, stderr } = spawnSync(program, [...words], options);
  if (status !== 0) throw new Error(`${program} ${words.join(" ")}: ${stderr}`);
  return String(stdout);
}
