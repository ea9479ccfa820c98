import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { type RedisServer, reachedAt, startRedis } from "./redis.ts";

/** Several Redis that belong together. */
export interface RedisGroup {
  /** What `REDIS_URL` is. */
  readonly url: string;
  readonly servers: readonly RedisServer[];
  /** Kills the master, or one of them, and resolves when another one has its place. */
  failOver(): Promise<void>;
  stop(): Promise<void>;
}

/** A busy machine gives six or seven processes little time to find one another. */
const groupWaitMs = 150_000;

/** Starts a master, a replica, and three Sentinels that watch them, at an address of this machine. */
export async function startSentinels(address = "127.0.0.1"): Promise<RedisGroup> {
  const master = await startRedis(undefined, reachedAt(address));
  const replica = await startRedis(undefined, [
    ...reachedAt(address),
    ...["--replicaof", address, String(master.port)],
    ...["--replica-announce-ip", address],
  ]);
  const folder = await mkdtemp(join(tmpdir(), "parley-sentinel-"));
  const watchers = await Promise.all(
    [1, 2, 3].map(async (n) => {
      const port = await freePort();
      const file = join(folder, `${n}.conf`);
      const lines = [
        `port ${port}`,
        // A second bind of one address fails, and the Sentinel with it.
        ...(address === "127.0.0.1" ? [] : [`bind 127.0.0.1 ${address}`, "protected-mode no"]),
        `sentinel announce-ip ${address}`,
        `dir ${folder}`,
        `sentinel monitor main ${address} ${master.port} 2`,
        "sentinel down-after-milliseconds main 1000",
        "sentinel failover-timeout main 3000",
      ];
      await writeFile(file, `${lines.join("\n")}\n`);
      return { port, child: spawn("redis-server", [file, "--sentinel"], { stdio: "ignore" }) };
    }),
  );
  const ask = new Redis({ host: "127.0.0.1", port: watchers[0]?.port ?? 0, maxRetriesPerRequest: null });
  ask.on("error", () => {});
  const state = async () => {
    const [fields] = (await ask.call("SENTINEL", "masters")) as string[][];
    return new Map(Array.from({ length: (fields?.length ?? 0) / 2 }, (_, n) => [fields?.[2 * n], fields?.[2 * n + 1]]));
  };
  await eventually(async () => {
    const known = await state();
    return known.get("num-slaves") === "1" && known.get("num-other-sentinels") === "2";
  }, groupWaitMs);
  return {
    url: `redis+sentinel://${watchers.map(({ port }) => `${address}:${port}`).join(",")}/main`,
    servers: [master, replica],
    failOver: async () => {
      await master.stop();
      await eventually(async () => (await state()).get("port") === String(replica.port), groupWaitMs);
    },
    stop: async () => {
      ask.disconnect();
      for (const { child } of watchers) child.kill("SIGKILL");
      await Promise.all([master.stop(), replica.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const slots = 16_384;

/** Starts a Redis Cluster of three masters, each with a replica, at an address of this machine. */
export async function startCluster(address = "127.0.0.1"): Promise<RedisGroup> {
  const options = [
    ...reachedAt(address),
    "--cluster-enabled",
    "yes",
    "--cluster-node-timeout",
    "1500",
    "--cluster-replica-validity-factor",
    "0",
    "--cluster-announce-ip",
    address,
  ];
  const servers = await Promise.all(Array.from({ length: 6 }, () => startRedis(undefined, options)));
  const clients = servers.map(({ port }) => new Redis({ host: "127.0.0.1", port, maxRetriesPerRequest: null }));
  for (const client of clients) client.on("error", () => {});
  const [first] = clients as [Redis];
  for (let master = 0; master < 3; master++) {
    const from = Math.floor((master * slots) / 3);
    const to = Math.floor(((master + 1) * slots) / 3) - 1;
    await clients[master]?.call("CLUSTER", "ADDSLOTSRANGE", from, to);
  }
  for (const { port } of servers.slice(1)) await first.call("CLUSTER", "MEET", address, port);
  const infos = async () => Promise.all(clients.map((client) => client.call("CLUSTER", "INFO") as Promise<string>));
  await eventually(async () => (await infos()).every((info) => /cluster_known_nodes:6/.test(info)), groupWaitMs);
  for (let master = 0; master < 3; master++) {
    const id = await clients[master]?.call("CLUSTER", "MYID");
    const replicate = () => clients[master + 3]?.call("CLUSTER", "REPLICATE", String(id));
    await eventually(async () => (await replicate()?.catch(() => null)) === "OK", groupWaitMs);
  }
  const isWhole = async (client: Redis) => /cluster_state:ok/.test(String(await client.call("CLUSTER", "INFO")));
  await eventually(async () => (await Promise.all(clients.map(isWhole))).every(Boolean), groupWaitMs);
  const replicas = async () =>
    String(await first.call("CLUSTER", "NODES"))
      .split("\n")
      .filter((line) => / slave .* connected/.test(line)).length;
  await eventually(async () => (await replicas()) === 3, groupWaitMs);
  return {
    url: `redis+cluster://${servers
      .slice(0, 3)
      .map(({ port }) => `${address}:${port}`)
      .join(",")}`,
    servers,
    failOver: async () => {
      await servers[1]?.stop();
      await eventually(async () => {
        const nodes = String(await first.call("CLUSTER", "NODES"));
        return nodes.split("\n").some((line) => line.includes(`:${servers[4]?.port}@`) && line.includes("master"));
      }, groupWaitMs);
      await eventually(() => isWhole(first), groupWaitMs);
    },
    stop: async () => {
      for (const client of clients) client.disconnect();
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}
