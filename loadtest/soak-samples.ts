/** What an installation holds at a moment, and how that changes over a run. */
import { Redis } from "ioredis";
import postgres from "postgres";
import { readUse, type StandProcess } from "./processes.ts";

/** Figures of a moment. */
export interface SoakSample {
  /** Since the run began. */
  readonly minutes: number;
  /** Resident memory in MB (1,000,000 bytes), and CPU seconds so far, by process. */
  readonly processes: Readonly<Record<string, { readonly memoryMb: number; readonly cpuSeconds: number }>>;
  /** `used_memory` in MB, and the number of keys. */
  readonly redis: { readonly memoryMb: number; readonly keys: number };
  /** By table: MB with its indexes and long values, and Postgres' own estimates of its rows. */
  readonly tables: Readonly<Record<string, TableSize>>;
}

/** What a table takes. */
export interface TableSize {
  readonly mb: number;
  readonly live: number;
  readonly dead: number;
}

/** Tables below this many bytes say nothing: an empty one has some pages. */
const tableBytesMin = 100_000;

/** Reads samples, on connections of its own. */
export class Sampler implements AsyncDisposable {
  readonly #processes: readonly StandProcess[];
  readonly #sql: postgres.Sql;
  readonly #redis: Redis;
  readonly #startedAt = performance.now();

  constructor(processes: readonly StandProcess[], databaseUrl: string, redisUrl: string) {
    this.#processes = processes;
    this.#sql = postgres(databaseUrl, { max: 1 });
    this.#redis = new Redis(redisUrl);
  }

  /** Returns what is there now. */
  async take(): Promise<SoakSample> {
    const minutes = (performance.now() - this.#startedAt) / 60_000;
    const [used, info, keys, rows] = await Promise.all([
      readUse(this.#processes),
      this.#redis.info("memory"),
      this.#redis.dbsize(),
      this.#sql<{ name: string; bytes: string; live: string; dead: string }[]>`
        select case schemaname when 'public' then '' else schemaname || '.' end || relname as name,
          pg_total_relation_size(relid) as bytes, n_live_tup as live, n_dead_tup as dead
        from pg_stat_user_tables where pg_total_relation_size(relid) >= ${tableBytesMin}`,
    ]);
    const redisBytes = Number(/^used_memory:(\d+)/m.exec(info)?.[1] ?? 0);
    return {
      minutes: round(minutes),
      processes: Object.fromEntries(
        [...used].map(([name, { memoryMb, cpuSeconds }]) => [
          name,
          { memoryMb: round(memoryMb), cpuSeconds: round(cpuSeconds) },
        ]),
      ),
      redis: { memoryMb: round(redisBytes / 1e6), keys },
      tables: Object.fromEntries(
        rows.map(({ name, bytes, live, dead }) => [
          name,
          { mb: round(Number(bytes) / 1e6), live: Number(live), dead: Number(dead) },
        ]),
      ),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#redis.disconnect();
    await this.#sql.end();
  }
}

/** A straight line through points. */
export interface Slope {
  /** Growth of `y` an hour. */
  readonly anHour: number;
  /** Half the width of the interval that holds the growth with 95 %, were the deviations independent. */
  readonly within: number;
  /** The mean of the first tenth of the points, and of the last. */
  readonly first: number;
  readonly last: number;
}

/** Returns the least-squares line through points whose `x` are minutes. */
export function slopeOf(points: readonly { readonly x: number; readonly y: number }[]): Slope {
  const mean = (numbers: readonly number[]) => numbers.reduce((sum, n) => sum + n, 0) / Math.max(1, numbers.length);
  const middleX = mean(points.map(({ x }) => x));
  const middleY = mean(points.map(({ y }) => y));
  const spread = points.reduce((sum, { x }) => sum + (x - middleX) ** 2, 0);
  const slope = spread === 0 ? 0 : points.reduce((sum, { x, y }) => sum + (x - middleX) * (y - middleY), 0) / spread;
  const left = points.reduce((sum, { x, y }) => sum + (y - middleY - slope * (x - middleX)) ** 2, 0);
  const error = points.length < 3 || spread === 0 ? 0 : Math.sqrt(left / (points.length - 2) / spread);
  const tenth = Math.max(1, Math.floor(points.length / 10));
  return {
    anHour: slope * 60,
    within: error * 1.96 * 60,
    first: mean(points.slice(0, tenth).map(({ y }) => y)),
    last: mean(points.slice(-tenth).map(({ y }) => y)),
  };
}

const round = (value: number) => Number(value.toFixed(3));
