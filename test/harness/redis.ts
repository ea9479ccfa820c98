import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { Redis } from "ioredis";
import { freePort } from "./free-port.ts";

/** A real Redis of a test's own. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Its process, to freeze or kill. */
  readonly process: ChildProcess;
  stop(): Promise<void>;
}

const startTimeoutMs = 30_000;

/** Path of `redis-server`, or null where none is installed. */
export function findRedisServer(): string | null {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const path = join(folder, "redis-server");
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not in this folder.
    }
  }
  return null;
}

/** Options of a Redis that other hosts reach at an address of this machine. */
export function reachedAt(address: string): readonly string[] {
  return address === "127.0.0.1" ? [] : ["--bind", "127.0.0.1", address, "--protected-mode", "no"];
}

/** Starts a Redis that keeps nothing on disk. Give a port to start one again at the same place. */
export async function startRedis(port?: number, more: readonly string[] = []): Promise<RedisServer> {
  const binary = findRedisServer();
  if (binary === null) throw new Error("redis-server is not installed");
  const folder = await mkdtemp(join(tmpdir(), "parley-redis-"));
  const chosen = port ?? (await freePort());
  const args = [
    "--port",
    String(chosen),
    "--bind",
    "127.0.0.1",
    "--save",
    "",
    "--appendonly",
    "no",
    "--dir",
    folder,
    ...more,
  ];
  const child = spawn(binary, args, { stdio: "ignore" });
  await responses(chosen);
  return {
    url: `redis://127.0.0.1:${chosen}`,
    port: chosen,
    process: child,
    stop: async () => {
      const gone =
        child.exitCode !== null || child.signalCode !== null
          ? Promise.resolve()
          : new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await gone;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function responses(port: number): Promise<void> {
  const client = new Redis({ port, host: "127.0.0.1", retryStrategy: () => 20, maxRetriesPerRequest: null });
  client.on("error", () => {});
  const limit = setTimeout(() => client.disconnect(), startTimeoutMs);
  try {
    await client.ping();
  } finally {
    clearTimeout(limit);
    client.disconnect();
  }
}
