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
/** Processes that are looked at before others' work goes on; each takes some 30 µs, and its exact memory 200. */
const processesAtOnce = 50;

interface Process {
  readonly pid: number;
  readonly memoryBytes: number;
}

/**
 * Looks at a process and all that descend from it. The CPU time of a process that has ended is its parent's as soon as that has
 * waited for it. Memory is what is not shared with a file. What a fork shares with its parent counts for both at
 * first; where that is more than `memoryBytesMax`, each process's part of what is shared is added up.
 */
export async function usageOf(root: number, memoryBytesMax: number): Promise<Usage> {
  const queue = [root];
  const found: Process[] = [];
  let cpuTicks = 0;
  for (const [index, pid] of queue.entries()) {
    if (index % processesAtOnce === processesAtOnce - 1) await othersWork();
    const used = readProcess(pid);
    if (used === null) continue;
    cpuTicks += used.cpuTicks;
    found.push({ pid, memoryBytes: used.memoryBytes });
    if (queue.length < processesMax) queue.push(...childrenOf(pid));
  }
  const roughly = totalOf(found);
  const { memoryBytes, largest } = roughly.memoryBytes > memoryBytesMax ? totalOf(await exactly(found)) : roughly;
  return { cpuMs: (cpuTicks * 1000) / ticksPerSecond, memoryBytes, largest };
}

function totalOf(processes: readonly Process[]): Pick<Usage, "memoryBytes" | "largest"> {
  let memoryBytes = 0;
  let largest: Process | null = null;
  for (const process of processes) {
    memoryBytes += process.memoryBytes;
    if (process.memoryBytes > (largest?.memoryBytes ?? 0)) largest = process;
  }
  return { memoryBytes, largest: largest?.pid ?? null };
}

async function exactly(processes: readonly Process[]): Promise<Process[]> {
  const found: Process[] = [];
  for (const [index, process] of processes.entries()) {
    if (index % processesAtOnce === processesAtOnce - 1) await othersWork();
    found.push({ pid: process.pid, memoryBytes: proportionalBytes(process) });
  }
  return found;
}

function othersWork(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
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

/** Returns a process's part of the memory that is not a file's; what it was found to have where the system does not tell. */
function proportionalBytes({ pid, memoryBytes }: Process): number {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "latin1");
    return Number(/^Pss_Anon:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? memoryBytes / 1024) * 1024;
  } catch {
    return memoryBytes;
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
