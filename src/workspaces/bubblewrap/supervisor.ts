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

/** After a look that took this long, the next one waits ten times as long. */
const slowdown = 10;

/**
 * Watches the processes of a command from its start to its end: time ends it, and where its programs have more memory than
 * they may, the one with the most is killed, as the kernel does when a machine has no more.
 */
export class Supervisor {
  readonly #supervised: Supervised;
  readonly #startedAtMs = performance.now();
  readonly #cpuMsBefore: number;
  readonly #wall: ReturnType<typeof setTimeout>;
  #look: ReturnType<typeof setTimeout>;
  #killed = 0;

  constructor(supervised: Supervised) {
    this.#supervised = supervised;
    this.#cpuMsBefore = usageOf(supervised.root).cpuMs;
    this.#wall = setTimeout(() => supervised.end("wall"), supervised.timeoutMs);
    this.#look = setTimeout(() => this.#check(), usageCheckMs);
  }

  /** How many programs were killed because of their memory. */
  get killed(): number {
    return this.#killed;
  }

  /** Ends the watch, and returns how long it was. */
  stop(): number {
    clearTimeout(this.#wall);
    clearTimeout(this.#look);
    return performance.now() - this.#startedAtMs;
  }

  #check(): void {
    const { root, limits, end } = this.#supervised;
    const before = performance.now();
    const { cpuMs, memoryBytes, largest } = usageOf(root);
    if (cpuMs - this.#cpuMsBefore > limits.cpuSeconds * 1000) {
      end("cpu");
      return;
    }
    if (memoryBytes > limits.memoryMib * 1024 * 1024 && largest !== null) this.#kill(largest);
    const tookMs = performance.now() - before;
    this.#look = setTimeout(() => this.#check(), Math.max(usageCheckMs, tookMs * slowdown));
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
