import { readdir, readFile } from "node:fs/promises";

/** One process of the stand, with the children it has. Several may share a name; they are counted together. */
export interface StandProcess {
  readonly name: string;
  readonly pid: number;
}

/** What the processes of one name use. */
export interface Use {
  /** CPU seconds so far. */
  readonly cpuSeconds: number;
  /** Memory that is theirs alone, and what they share counted once, in MB (1,000,000 bytes). */
  readonly memoryMb: number;
}

/** Kernel clock ticks a second: how `/proc` counts CPU time. */
const ticksPerSecond = 100;

/** What processes and their children use, by name. Linux only; elsewhere empty. */
export async function readUse(processes: readonly StandProcess[]): Promise<Map<string, Use>> {
  const pids = (await readdir("/proc").catch(() => [])).map(Number).filter((pid) => pid > 0);
  const stats = new Map(await Promise.all(pids.map(async (pid) => [pid, await processStat(pid)] as const)));
  const used = new Map<string, Use>();
  for (const { name, pid } of processes) {
    const family = [...stats].filter(([id, { parent }]) => id === pid || parent === pid);
    const ticks = family.reduce(
      (sum, [id, stat]) => sum + (id === pid ? stat.ownTicks + stat.endedTicks : stat.ownTicks),
      0,
    );
    const memory = await Promise.all(family.map(([id]) => memoryOf(id)));
    // What a family maps together (Postgres' buffers, the program itself) is there once, however many map it.
    const own = memory.reduce((sum, { ownKb }) => sum + ownKb, 0);
    const shared = Math.max(0, ...memory.map(({ sharedKb }) => sharedKb));
    const before = used.get(name) ?? { cpuSeconds: 0, memoryMb: 0 };
    used.set(name, {
      cpuSeconds: before.cpuSeconds + ticks / ticksPerSecond,
      memoryMb: before.memoryMb + ((own + shared) * 1024) / 1e6,
    });
  }
  return used;
}

/** CPU seconds that the processes and their children have used so far, by name. */
export async function cpuSeconds(processes: readonly StandProcess[]): Promise<Map<string, number>> {
  return new Map([...(await readUse(processes))].map(([name, use]) => [name, use.cpuSeconds]));
}

/** A process's parent, its CPU ticks and those of its children that have ended. All 0 for one that is gone. */
export async function processStat(pid: number): Promise<{ parent: number; ownTicks: number; endedTicks: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const number = (index: number) => Number(fields[index] ?? 0);
  return { parent: number(1), ownTicks: number(11) + number(12), endedTicks: number(13) + number(14) };
}

async function memoryOf(pid: number): Promise<{ ownKb: number; sharedKb: number }> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const kb = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0);
  return { ownKb: kb("RssAnon"), sharedKb: kb("RssFile") + kb("RssShmem") };
}

/** What the processes of one name used at a moment. */
export interface Sample {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** By name: cores in use since the sample before, and memory. */
  readonly processes: Readonly<Record<string, { readonly cpuShare: number; readonly memoryMb: number }>>;
}

/** A sample is taken this often. */
const sampleEveryMs = 1_000;
/** Samples kept; of a longer run every second one is dropped, as often as it takes. */
const samplesMax = 2_000;

/** Watches what processes use, until it is stopped. */
export class Watch {
  readonly #processes: readonly StandProcess[];
  readonly #timer: NodeJS.Timeout;
  #samples: Sample[] = [];
  #before: { readonly atMs: number; readonly used: Map<string, Use> } | null = null;

  constructor(processes: readonly StandProcess[]) {
    this.#processes = processes;
    this.#timer = setInterval(() => void this.#take(), sampleEveryMs);
  }

  /** The samples since the beginning, or since `begin`. */
  get samples(): readonly Sample[] {
    return this.#samples;
  }

  /** Forgets what was seen so far. */
  begin(): void {
    this.#samples = [];
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #take(): Promise<void> {
    const atMs = Date.now();
    const used = await readUse(this.#processes);
    const before = this.#before;
    this.#before = { atMs, used };
    if (before === null) return;
    const seconds = (atMs - before.atMs) / 1000;
    const shown = [...used].map(([name, { cpuSeconds, memoryMb }]) => {
      const cpuShare = (cpuSeconds - (before.used.get(name)?.cpuSeconds ?? 0)) / seconds;
      return [name, { cpuShare: Number(cpuShare.toFixed(3)), memoryMb: Number(memoryMb.toFixed(1)) }] as const;
    });
    this.#samples.push({ atMs, processes: Object.fromEntries(shown) });
    if (this.#samples.length > samplesMax) this.#samples = this.#samples.filter((_, index) => index % 2 === 0);
  }
}
