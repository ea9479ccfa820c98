import type { ProgramLimits } from "../../kernel/sandbox-config.ts";
import { usageCheckMs } from "./limits.ts";
import { usageOf } from "./usage.ts";

/** Why a command was ended. */
export type TimeUp = "wall" | "cpu";

interface Supervised {
  /** The process whose descendants are looked at. */
  readonly root: number;
  readonly limits: ProgramLimits;
  readonly timeoutMs: number;
  /** Ends the command. */
  readonly end: (why: TimeUp) => void;
}

/** After a look that took this long, the next one waits five times as long. */
const slowdown = 5;

/**
 * Watches the processes of a command from its start to its end: time ends it, and where its programs have more memory than
 * they may, the one with the most is killed, as the kernel does when a machine has no more.
 */
export class Supervisor {
  readonly #supervised: Supervised;
  readonly #startedAtMs = performance.now();
  readonly #wall: ReturnType<typeof setTimeout>;
  #look: ReturnType<typeof setTimeout>;
  /** What was used before the command began, by bringing its files; null until the first look. */
  #cpuMsBefore: number | null = null;
  #isStopped = false;
  #killed = 0;

  constructor(supervised: Supervised) {
    this.#supervised = supervised;
    this.#wall = setTimeout(() => supervised.end("wall"), supervised.timeoutMs);
    this.#look = setTimeout(() => void this.#check(), 0);
  }

  /** How many programs were killed because of their memory. */
  get killed(): number {
    return this.#killed;
  }

  /** Ends the watch, and returns how long it was. */
  stop(): number {
    this.#isStopped = true;
    clearTimeout(this.#wall);
    clearTimeout(this.#look);
    return performance.now() - this.#startedAtMs;
  }

  async #check(): Promise<void> {
    const { root, limits, end } = this.#supervised;
    const before = performance.now();
    const memoryBytesMax = limits.memoryMib * 1024 * 1024;
    const { cpuMs, memoryBytes, largest } = await usageOf(root, memoryBytesMax);
    if (this.#isStopped) return;
    this.#cpuMsBefore ??= cpuMs;
    if (cpuMs - this.#cpuMsBefore > limits.cpuSeconds * 1000) {
      end("cpu");
      return;
    }
    if (memoryBytes > memoryBytesMax && largest !== null) this.#kill(largest);
    const tookMs = performance.now() - before;
    this.#look = setTimeout(() => void this.#check(), Math.max(usageCheckMs, tookMs * slowdown));
  }

  #kill(pid: number): void {
    try {
      process.kill(pid, "SIGKILL");
      this.#killed += 1;
    } catch {
      // It has ended in the meantime.
    }
  }
}
