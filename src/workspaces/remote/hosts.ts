import { createHash } from "node:crypto";

/** How long a host that could not be reached is asked last. */
const avoidMs = 5_000;

/** The hosts of sandboxes, and which of them could be reached. */
export class SandboxHosts {
  readonly #urls: readonly string[];
  readonly #awayUntilMs = new Map<string, number>();

  constructor(urls: readonly string[]) {
    this.#urls = urls;
  }

  /**
   * Returns the hosts in the order in which they are to be asked for a workspace: always the same one first, because it has the
   * workspace's files; those that were away a moment ago last.
   */
  inOrder(workspaceId: string): string[] {
    const rank = (url: string) => createHash("sha256").update(`${url} ${workspaceId}`).digest("hex");
    const ordered = this.#urls.map((url) => ({ url, rank: rank(url), isAway: this.#isAway(url) }));
    ordered.sort((left, right) => Number(left.isAway) - Number(right.isAway) || (left.rank < right.rank ? -1 : 1));
    return ordered.map(({ url }) => url);
  }

  /** Notes that a host could not be reached. */
  noteAway(url: string): void {
    this.#awayUntilMs.set(url, Date.now() + avoidMs);
  }

  /** Notes that a host has responded. */
  noteThere(url: string): void {
    this.#awayUntilMs.delete(url);
  }

  #isAway(url: string): boolean {
    return (this.#awayUntilMs.get(url) ?? 0) > Date.now();
  }
}
