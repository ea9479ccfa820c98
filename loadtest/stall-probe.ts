/**
 * Asks a process for `/healthz` again and again, in a thread of its own, so that nothing else of the script slows it. Tells, for each
 * question of its parent, the longest time that the process did not answer, and how much its memory grew at most.
 */
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { processStat } from "./processes.ts";

/** What the probe saw since it was asked before. */
export interface Seen {
  /** Milliseconds of the process's own CPU, so that what others take of the machine does not count. */
  readonly stallMs: number;
  readonly grewMib: number;
}

const { url, pid } = workerData as { url: string; pid: number };
/** Between two questions. */
const pauseMs = 5;
/** Kernel clock ticks, in milliseconds: how exact the CPU time is. */
const tickMs = 10;

let stallMs = 0;
let highestMib = 0;
let firstMib = 0;

const cpuMs = async () => (await processStat(pid)).ownTicks * tickMs;
const memoryMib = async () =>
  Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, "utf8").catch(() => ""))?.[1] ?? 0) / 1024;

parentPort?.on("message", async (word: "reset" | "tell") => {
  if (word === "tell") parentPort?.postMessage({ stallMs, grewMib: Math.max(0, highestMib - firstMib) } satisfies Seen);
  stallMs = 0;
  firstMib = await memoryMib();
  highestMib = firstMib;
});

for (;;) {
  const [cpuBefore, sentAt] = [await cpuMs(), performance.now()];
  await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(150_000) })
    .then((response) => response.text())
    .catch(() => "");
  const waitedMs = performance.now() - sentAt;
  // An answer takes a millisecond; what is shorter than a tick is none of a stall.
  if (waitedMs > tickMs) stallMs = Math.max(stallMs, Math.min(waitedMs, (await cpuMs()) - cpuBefore));
  highestMib = Math.max(highestMib, await memoryMib());
  await sleep(pauseMs);
}
