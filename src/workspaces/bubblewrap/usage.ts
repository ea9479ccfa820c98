import { readdirSync, readFileSync } from "node:fs";

/** What the processes of a command use. */
export interface Usage {
  readonly cpuMs: number;
  readonly memoryBytes: number;
  /** The process that has the most memory. */
  readonly largest: number | null;
}

/** `sysconf(_SC_CLK_TCK)`, and the size of a page: the same on all Linux systems of the architectures that are filtered, but for large pages. */
const ticksPerSecond = 100;
const pageBytes = 4096;
/** Beyond this number of processes the rest is left for the next look. */
const processesMax = 4_096;

/**
 * Looks at a process and all that descend from it. The CPU time of a process that has ended is its parent's as soon as that has
 * waited for it. Memory is what is not shared with a file: what a fork shares with its parent counts for both.
 */
export function usageOf(root: number): Usage {
  const queue = [root];
  let cpuTicks = 0;
  let memoryBytes = 0;
  let most = 0;
  let largest: number | null = null;
  for (const pid of queue) {
    const used = readProcess(pid);
    if (used === null) continue;
    cpuTicks += used.cpuTicks;
    memoryBytes += used.memoryBytes;
    if (used.memoryBytes > most) {
      most = used.memoryBytes;
      largest = pid;
    }
    if (queue.length < processesMax) queue.push(...childrenOf(pid));
  }
  return { cpuMs: (cpuTicks * 1000) / ticksPerSecond, memoryBytes, largest };
}

function readProcess(pid: number): { cpuTicks: number; memoryBytes: number } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name before them may contain anything.
    const fields = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    const cpuTicks = [11, 12, 13, 14].reduce((sum, index) => sum + (fields[index] ?? 0), 0);
    const [, resident = 0, shared = 0] = readFileSync(`/proc/${pid}/statm`, "latin1").split(" ").map(Number);
    return { cpuTicks, memoryBytes: (resident - shared) * pageBytes };
  } catch {
    return null;
  }
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, "latin1").split(" ").filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}
