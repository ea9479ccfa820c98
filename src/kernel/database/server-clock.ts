/**
 * What is known of a server's clock: by how much it is ahead of this process's steady one (`performance.now()`), at least.
 * Clocks of two machines may differ by minutes, so a time that is to be compared there is told in the server's own.
 */
export class ServerClock {
  #aheadMs: number | null = null;

  /** Learns what the clock showed between two moments of this process. */
  note(serverMs: number, sentAtMs: number, receivedAtMs: number): void {
    const least = serverMs - receivedAtMs;
    const most = serverMs - sentAtMs;
    // What was known before is kept where it says more, unless it cannot be true any more: the clock was set back.
    if (this.#aheadMs === null || least > this.#aheadMs || most < this.#aheadMs) this.#aheadMs = least;
  }

  /** Returns what the clock shows, at the latest, when it is `atMs` here; null before anything is known. */
  at(atMs: number): number | null {
    return this.#aheadMs === null ? null : atMs + this.#aheadMs;
  }
}
