import type { StoredFile } from "../runtime.ts";
import type { Holder } from "./holder.ts";
import { emptyScan, type Renewal, renewalOf, type Scan } from "./scan.ts";

/** The folder of one workspace, as it is kept between commands. A command has it alone. */
export class KeptFolder {
  readonly key: string;
  readonly holder: Holder;
  lastUsedAtMs = Date.now();
  #scan: Scan = emptyScan;
  /** What the files in it are, where that is known. */
  #revisions = new Map<string, number>();

  constructor(key: string, holder: Holder) {
    this.key = key;
    this.holder = holder;
  }

  /** How it was when it was last looked at. */
  get scan(): Scan {
    return this.#scan;
  }

  get bytes(): number {
    let bytes = 0;
    for (const { size } of this.#scan.entries.values()) bytes += size;
    return bytes;
  }

  /** Returns what has to be done so that it is what the workspace is. */
  renewal(workspace: { readonly files: readonly StoredFile[]; readonly folders: readonly string[] }): Renewal {
    return renewalOf(this.#scan, this.#revisions, workspace);
  }

  /** Notes how it is once it is what the workspace is. */
  renewed(scan: Scan | null, files: readonly StoredFile[]): void {
    if (scan !== null) this.#scan = scan;
    this.#revisions = new Map(files.map(({ path, revision }) => [path, revision]));
  }

  /** Notes how a command left it: of what changed the revision is not known yet. */
  left(scan: Scan): void {
    for (const path of this.#revisions.keys()) {
      if (scan.entries.get(path)?.state !== this.#scan.entries.get(path)?.state) this.#revisions.delete(path);
    }
    this.#scan = scan;
  }

  /** Notes what files that a command wrote are now. */
  kept(revisions: ReadonlyMap<string, number>): void {
    for (const [path, revision] of revisions) this.#revisions.set(path, revision);
  }
}
