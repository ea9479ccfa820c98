import { access, constants, readFile } from "node:fs/promises";
import { scene } from "./scripts.ts";
import { isFiltered } from "./seccomp.ts";
import { systemEnvironment } from "./system-environment.ts";

/** What makes sandboxes and moves files, with the Debian package that has it. */
const programs: Readonly<Record<string, string>> = {
  bwrap: "bubblewrap",
  bash: "bash",
  unshare: "util-linux",
  nsenter: "util-linux",
  setpriv: "util-linux",
  mount: "mount",
  find: "findutils",
  xargs: "findutils",
  tar: "tar",
  head: "coreutils",
  nice: "coreutils",
};

/** Returns what this host lacks to run programs in sandboxes, in one line; null when nothing is known to be missing. */
export async function findMissing(): Promise<string | null> {
  if (process.platform !== "linux") return "SANDBOX=bubblewrap needs Linux.";
  if (!isFiltered(process.arch))
    return `There is no filter of system calls for ${process.arch}: SANDBOX=bubblewrap needs x64 or arm64.`;
  if (!(await isThere("/proc/self/uid_map", constants.R_OK))) {
    return "SANDBOX=bubblewrap needs to read /proc: on Deno, start with --allow-all.";
  }
  const found = await Promise.all(Object.keys(programs).map(isInstalled));
  const absent = Object.entries(programs).filter((_, index) => !found[index]);
  if (absent.length > 0) {
    const names = absent.map(([name, debian]) => `${name} (Debian's package ${debian})`);
    return `SANDBOX=bubblewrap needs ${names.join(", ")} in ${systemEnvironment.PATH}.`;
  }
  if (!(await isThere(scene, constants.X_OK))) return `SANDBOX=bubblewrap needs a folder ${scene}; it may be empty.`;
  for (const [file, wanted] of kernelSettings) {
    const value = await readFile(`/proc/sys/${file}`, "utf8").catch(() => null);
    if (value !== null && !wanted(Number(value))) {
      return `The kernel lets users have no namespaces of their own (${file.replaceAll("/", ".")} is ${value.trim()}).`;
    }
  }
  return null;
}

const kernelSettings: readonly (readonly [file: string, wanted: (value: number) => boolean])[] = [
  ["user/max_user_namespaces", (value) => value > 0],
  ["kernel/unprivileged_userns_clone", (value) => value !== 0],
];

async function isInstalled(name: string): Promise<boolean> {
  const places = await Promise.all(
    systemEnvironment.PATH.split(":").map((folder) => isThere(`${folder}/${name}`, constants.X_OK)),
  );
  return places.includes(true);
}

function isThere(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}
