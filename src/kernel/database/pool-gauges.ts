import { Gauge } from "prom-client";
import { registry } from "../telemetry/metrics.ts";

/** The use of a pool. The driver does not show its connections, so queries and transactions are counted. */
export interface PoolUse {
  readonly max: number;
  /** Queries under way outside transactions. */
  queries: () => number;
  /** Transactions that run, or wait for a connection. */
  transactions: number;
}

/** By name; a pool that is opened again replaces the one before. */
const pools = new Map<string, PoolUse>();

/** Begins to count the use of a pool. */
export function watchPool(name: string, max: number): PoolUse {
  const use: PoolUse = { max, queries: () => 0, transactions: 0 };
  pools.set(name, use);
  return use;
}

const askedOf = (use: PoolUse) => use.queries() + use.transactions;

gaugeOfPools("max", "Connections that a pool of this process may open.", ({ max }) => max);
gaugeOfPools("in_use", "Queries and transactions under way in a pool, up to its size.", (use) =>
  Math.min(askedOf(use), use.max),
);
gaugeOfPools("waiting", "Queries and transactions that a pool has no connection of their own for.", (use) =>
  Math.max(0, askedOf(use) - use.max),
);

function gaugeOfPools(name: string, help: string, read: (use: PoolUse) => number): void {
  new Gauge({
    name: `parley_database_pool_${name}`,
    help,
    labelNames: ["pool"],
    registers: [registry],
    collect() {
      for (const [pool, use] of pools) this.set({ pool }, read(use));
    },
  });
}
