import { commandMemoryBytesMax } from "../limits.ts";

/**
 * Stops a command from inside its process, so that what it did until then is
 * kept: the interpreter reports every step it takes, and the guard checks the
 * clock and the memory. One step that never ends is not seen here; then the worker
 * kills the process.
 */
export class CommandGuard {
  readonly limitMs: number;
  readonly #stop = new AbortController();
  readonly #startedAtMs = performance.now();
  readonly #heapBefore = process.memoryUsage().heapUsed;
  #reason: "time" | "memory" | null = null;

  constructor(limitMs: number) {
    this.limitMs = limitMs;
    // For a command that only waits and takes no steps.
    setTimeout(() => this.#end("time"), limitMs);
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Whether the time was up: then nothing that the command wrote is kept. */
  get isTimeUp(): boolean {
    return this.#reason === "time";
  }

  /** Called by the interpreter at every step. */
  hit(): void {
    // Reading the memory costs about 10 µs, a step at least as much.
    if (process.memoryUsage().heapUsed - this.#heapBefore > commandMemoryBytesMax) this.#end("memory");
    else if (performance.now() - this.#startedAtMs > this.limitMs) this.#end("time");
  }

  /** Returns notes on why the command was cut; empty when it was not. */
  notes(): string[] {
    if (this.#reason === "time") return [`The command was cut after ${this.limitMs / 1000} s.`, "No file was changed."];
    if (this.#reason === "memory") return ["The command was cut because it used more memory than a command may."];
    return [];
  }

  #end(reason: "time" | "memory"): void {
    this.#reason ??= reason;
    this.#stop.abort();
  }
}
