import { Cluster, type Redis } from "ioredis";

/** What a relay's store holds of its memory. */
export interface RelayMemory {
  readonly usedBytes: number;
  /** Null: no limit is set. */
  readonly maxBytes: number | null;
}

/** Returns the memory that Redis uses; of a cluster, that of its masters together. */
export async function readRedisMemory(commands: Redis | Cluster): Promise<RelayMemory> {
  const nodes = commands instanceof Cluster ? commands.nodes("master") : [commands];
  const all = await Promise.all(nodes.map(async (node) => memoryIn(await node.info("memory"))));
  const limits = all.map(({ maxBytes }) => maxBytes);
  return {
    usedBytes: all.reduce((sum, { usedBytes }) => sum + usedBytes, 0),
    maxBytes: limits.includes(null) ? null : limits.reduce((sum: number, limit) => sum + (limit ?? 0), 0),
  };
}

function memoryIn(info: string): RelayMemory {
  const value = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1] ?? 0);
  return { usedBytes: value("used_memory"), maxBytes: value("maxmemory") || null };
}
