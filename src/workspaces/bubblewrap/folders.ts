import { KeptFolder } from "./folder.ts";
import { Holder } from "./holder.ts";
import { folderIdleMs, foldersKeptMax } from "./limits.ts";
import type { ProgramUsers } from "./users.ts";

/** How often unused folders are looked for. */
const sweepMs = 60_000;

/**
 * The folders that are kept between commands, so that the next command of a workspace is given only what has changed.
 * What is kept is bounded by number, by bytes and by time; the folder that was used longest ago goes first. A folder is one workspace's
 * and one tenant's, and its files are in no other place of the host.
 */
export class Folders {
  readonly #users: ProgramUsers;
  readonly #bytesMax: number;
  /** In the order of their last use. Those that a command has are not here. */
  readonly #kept = new Map<string, KeptFolder>();
  readonly #sweep: ReturnType<typeof setInterval>;

  constructor(users: ProgramUsers, bytesMax: number) {
    this.#users = users;
    this.#bytesMax = bytesMax;
    this.#sweep = setInterval(() => this.#endIdle(), sweepMs);
  }

  /** What is kept, for metrics. */
  get kept(): { readonly folders: number; readonly bytes: number } {
    let bytes = 0;
    for (const folder of this.#kept.values()) bytes += folder.bytes;
    return { folders: this.#kept.size, bytes };
  }

  /** Returns the folder of a workspace, for the caller alone. Throws with what the system said when none can be made. */
  async take(key: string): Promise<KeptFolder> {
    const kept = this.#kept.get(key);
    this.#kept.delete(key);
    if (kept?.holder.isAlive === true) return kept;
    return new KeptFolder(key, await Holder.start(this.#users));
  }

  /** Returns a folder that is kept and that no command has; undefined where there is none. */
  find(key: string): KeptFolder | undefined {
    return this.#kept.get(key);
  }

  /** Keeps a folder for the next command. */
  give(folder: KeptFolder): void {
    this.#kept.get(folder.key)?.holder.end();
    this.#kept.delete(folder.key);
    folder.lastUsedAtMs = Date.now();
    this.#kept.set(folder.key, folder);
    let { bytes } = this.kept;
    for (const [key, oldest] of this.#kept) {
      if (this.#kept.size <= foldersKeptMax && bytes <= this.#bytesMax) break;
      bytes -= oldest.bytes;
      this.#end(key, oldest);
    }
  }

  /** Ends all that are kept. */
  close(): void {
    clearInterval(this.#sweep);
    for (const [key, folder] of this.#kept) this.#end(key, folder);
    this.#users.close();
  }

  #endIdle(): void {
    for (const [key, folder] of this.#kept) {
      if (Date.now() - folder.lastUsedAtMs > folderIdleMs) this.#end(key, folder);
    }
  }

  #end(key: string, folder: KeptFolder): void {
    this.#kept.delete(key);
    folder.holder.end();
  }
}
