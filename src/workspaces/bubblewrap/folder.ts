import type { StoredFile } from "../runtime.ts";
import type { Holder } from "./holder.ts";
import { emptyScan, type Renewal, renewalOf, type Scan } from "./scan.ts";

/** The folder of one workspace, as it is kept between commands. A command has it alone. */
export class KeptFolder {
  readonly key: string;
  readonly holder: Holder;
  lastUsedAtMs = Date.now();
  /** What its mount can hold since the last command; empty before the first one. */
  sizes = "";
  #scan: Scan = emptyScan;
  /** What the files in it are, where that is known. */
  #revisions = new Map<string, number>();
  /** The last answer, which is asked for once more when a command begins; null once the folder is another one. */
  #found: { readonly workspace: object; readonly renewal: Renewal } | null = null;

  constructor(key: string, holder: Holder) {
    this.key = key;
    this.holder = holder;
  }

  /** How it was when it was last looked at. */
  get scan(): Scan {
    return this.#scan;
  }

  get bytes(): number {
    return this.#scan.bytes;
  }

  /** Returns what has to be done so that it is what the workspace is. */
  renewal(workspace: { readonly files: readonly StoredFile[]; readonly folders: readonly string[] }): Renewal {
    if (this.#found?.workspace !== workspace)
      this.#found = { workspace, renewal: renewalOf(this.#scan, this.#revisions, workspace) };
    return this.#found.renewal;
  }

  /** Notes how it is once it is what the workspace is. */
  renewed(scan: Scan | null, files: readonly StoredFile[]): void {
    this.#found = null;
    if (scan !== null) this.#scan = scan;
    this.#revisions = new Map(files.map(({ path, revision }) => [path, revision]));
  }

  /** Notes how a command left it: of what changed the revision is not known yet. */
  left(scan: Scan): void {
    this.#found = null;
    for (const path of this.#revisions.keys()) {
      if (scan.entries.get(path)?.state !== this.#scan.entries.get(path)?.state) this.#revisions.delete(path);
    }
    this.#scan = scan;
  }

  /** Notes what files that a command wrote are now. */
  kept(revisions: ReadonlyMap<string, number>): void {
    this.#found = null;
    for (const [path, revision] of revisions) this.#revisions.set(path, revision);
  }
}
