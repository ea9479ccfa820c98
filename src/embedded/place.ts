import { createHash, randomBytes } from "node:crypto";
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Account, chooseAccount, giveToOwner, isRoot, runProgram } from "./account.ts";

/** Where the data of a home is, and which account runs the server on it. */
export interface Place {
  /** The folder for the data, the log and copied binaries. Where root runs the service it is root's (or the home's owner's), so that the account cannot put links into it. */
  readonly folder: string;
  /** The data folder, the account's own. It is absent until the first start has made it. */
  readonly data: string;
  readonly password: string;
  /** Null when Postgres runs as this process's own account. */
  readonly account: Account | null;
  /** Whether the data has been made. */
  readonly initialised: boolean;
}

/** The file that keeps a home's place, as JSON. Only its owner reads it. */
interface Note {
  /** Relative to the home, or absolute when the data is elsewhere. */
  readonly folder: string;
  readonly password: string;
  readonly initialised: boolean;
}

const noteName = "postgres.json";
/** Files that a home has by then, and that every account may read. */
const ownFiles = ["service.lock", "service.pid"];
/** Any permission for accounts other than the owner and its group. */
const othersMode = 0o007;
/** The permission for every account to pass through a folder. */
const passageMode = 0o111;
const passwordBytes = 24;
const hashLength = 12;
/** Time limit for the test whether an account reaches a folder. */
const probeMs = 5_000;
/** The parent of the data that the account could not reach below the home. */
const sharedParent = "/var/lib/parley";

/**
 * Returns the place that the home's note names, or chooses one and writes the note. For root, that is below
 * the home when the unprivileged account can reach it, else below `/var/lib/parley`, else a temporary folder.
 * Throws when the noted data is gone or out of reach: an empty database in its place would look like lost data.
 */
export async function findPlace(home: string, log: (message: string) => void): Promise<Place> {
  const note = await readNote(home);
  if (note === null) return choosePlace(home, log);
  const folder = resolve(home, note.folder);
  const data = join(folder, "data");
  const owner = await ownerOf(data);
  if (owner === null) {
    if (!note.initialised) return choosePlace(home, log);
    throw new Error(
      `The database of ${home} is gone from ${data}. Bring it back, or remove ${join(home, noteName)} to start with an empty one.`,
    );
  }
  const account = isRoot() ? owner : null;
  if (account === null && owner.uid !== process.getuid?.()) {
    throw new Error(
      `The database in ${data} belongs to user ${owner.uid}. Start as that user or as root, or choose another PARLEY_HOME.`,
    );
  }
  return { folder, data, password: note.password, account, initialised: true };
}

/** Returns whether a home has a database that was started once. */
export async function hasDatabase(home: string): Promise<boolean> {
  return (await readNote(home))?.initialised === true;
}

/** Notes that the data of this place has been made. */
export async function noteInitialised(home: string, place: Place): Promise<void> {
  await writeNote(home, place, true);
}

/** Makes an empty folder that belongs to the account that runs Postgres. */
export async function makeOwnFolder(path: string, account: Account | null): Promise<void> {
  await rm(path, { recursive: true, force: true });
  await mkdir(path, { mode: 0o700 });
  if (account !== null) await chown(path, account.uid, account.gid);
}

async function choosePlace(home: string, log: (message: string) => void): Promise<Place> {
  await refuseForgottenData(home);
  const password = randomBytes(passwordBytes).toString("hex");
  const account = isRoot() ? await chooseAccount((await stat(home)).uid) : null;
  if (account !== null) await openPassage(home);
  const hash = createHash("sha256").update(home).digest("hex").slice(0, hashLength);
  const candidates = [
    () => makeOwnersFolder(home),
    () => makeSharedParent().then(() => mkdtemp(`${sharedParent}/${hash}-`)),
    () => mkdtemp(join(tmpdir(), "parley-")),
    () => mkdtemp("/tmp/parley-"),
  ];
  for (const make of account === null ? candidates.slice(0, 1) : candidates) {
    const folder = await make().catch((error: Error) => unlessLast(error, account));
    if (folder === null) continue;
    if (account !== null && !(await reaches(account, folder))) {
      await rm(folder, { recursive: true, force: true });
      continue;
    }
    const place: Place = { folder, data: join(folder, "data"), password, account, initialised: false };
    await writeNote(home, place, false);
    if (account !== null) log(`Running as root: Postgres runs as user ${account.uid}, with its data in ${place.data}.`);
    return place;
  }
  throw new Error(
    `User ${account?.uid} cannot reach a folder for the database. Start as an ordinary user, or set DATABASE_URL.`,
  );
}

/**
 * Lets other accounts pass through a home of root, without letting them list it, when nothing in it is readable
 * to others. A new folder is of this kind, so its database can be in it.
 */
async function openPassage(home: string): Promise<void> {
  const { uid, mode } = await stat(home);
  if (uid !== 0) return;
  for (const name of await readdir(home)) {
    if (!ownFiles.includes(name) && ((await lstat(join(home, name))).mode & othersMode) !== 0) return;
  }
  await chmod(home, (mode & 0o7777) | passageMode);
}

async function makeOwnersFolder(home: string): Promise<string> {
  const folder = join(home, "postgres");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await giveToOwner(home, folder);
  return folder;
}

async function makeSharedParent(): Promise<void> {
  // The umask restricts the mode of mkdir, so the mode is set afterwards; that of an existing folder stays.
  if ((await mkdir(sharedParent, { recursive: true })) !== undefined) await chmod(sharedParent, 0o755);
}

/** Returns null for root, which has further folders to try. Throws the error for an ordinary user, who has only the home. */
function unlessLast(error: Error, account: Account | null): null {
  if (account === null) throw error;
  return null;
}

/** Returns whether the account can write in a new folder below this one, by writing there. Lets every account pass through the folder. */
async function reaches(account: Account, folder: string): Promise<boolean> {
  const own = join(folder, "probe");
  try {
    await chmod(folder, 0o711);
    await makeOwnFolder(own, account);
    const { status } = await runProgram(account, "/bin/sh", ["-c", 'cd "$1" && : >"$1/file"', "sh", own], probeMs);
    await rm(own, { recursive: true, force: true });
    return status === 0;
  } catch (error) {
    if (/^Cannot run/.test((error as Error).message)) throw error;
    return false;
  }
}

async function readNote(home: string): Promise<Note | null> {
  const file = join(home, noteName);
  try {
    return JSON.parse(await readFile(file, "utf8")) as Note;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new Error(`Cannot read ${file}: ${(error as Error).message}`);
  }
}

async function writeNote(home: string, place: Place, initialised: boolean): Promise<void> {
  const folder = place.folder === join(home, "postgres") ? "postgres" : place.folder;
  const note: Note = { folder, password: place.password, initialised };
  const file = join(home, noteName);
  await rm(`${file}.new`, { force: true });
  await writeFile(`${file}.new`, `${JSON.stringify(note, null, 2)}\n`, { mode: 0o600, flag: "wx" });
  await giveToOwner(home, `${file}.new`);
  await rename(`${file}.new`, file);
}

async function refuseForgottenData(home: string): Promise<void> {
  const data = join(home, "postgres", "data");
  if ((await ownerOf(data)) === null) return;
  throw new Error(
    `${data} holds a database, but ${join(home, noteName)} with its password is gone. Bring it back, or move the folder away.`,
  );
}

async function ownerOf(path: string): Promise<Account | null> {
  try {
    const { uid, gid } = await stat(path);
    return { uid, gid };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new Error(`Cannot look at ${path}: ${(error as Error).message}`);
  }
}
