import { setTimeout as sleep } from "node:timers/promises";

/**
 * Runs work, and returns for how long the event loop of this process stood at a time while it ran, in milliseconds of the
 * process's own CPU: what another process took of the machine meanwhile does not count.
 */
export async function longestStallMs(work: () => unknown): Promise<number> {
  const watch = new StallWatch();
  try {
    await work();
    // The last gap is seen by the turn of the loop that follows it.
    await sleep(5);
  } finally {
    watch.stop();
  }
  return watch.longestMs;
}

class StallWatch {
  longestMs = 0;
  #wallMs = performance.now();
  #cpu = process.cpuUsage();
  readonly #timer = setInterval(() => this.#look(), 1);

  stop(): void {
    this.#look();
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = performance.now();
    const { user, system } = process.cpuUsage(this.#cpu);
    // Threads of the runtime count too, so a gap is at most as long as it lasted.
    this.longestMs = Math.max(this.longestMs, Math.min(now - this.#wallMs, (user + system) / 1000));
    this.#wallMs = now;
    this.#cpu = process.cpuUsage();
  }
}
