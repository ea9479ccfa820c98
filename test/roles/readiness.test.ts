import { describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import postgres from "postgres";
import { migrate } from "../../src/kernel/database/migrate.ts";
import { createLogger } from "../../src/kernel/telemetry/log.ts";
import { openLink } from "../faults/link.ts";
import { eventually } from "../harness/harness.ts";
import { replicationInstalled, startPostgresPair } from "../harness/postgres-pair.ts";
import { sharedRedisUrl, startInstallation } from "../harness/processes.ts";
import { startRedis } from "../harness/redis.ts";
import { launchServe } from "../harness/service-process.ts";

describe.skipIf(sharedRedisUrl === null)("readiness", () => {
  test.concurrent("without Postgres a process is ready for 30 s, and says in the body that it is away", async () => {
    await using installation = await startInstallation();
    const address = new URL(installation.databaseUrl);
    await using link = await openLink(Number(address.port));
    address.port = String(link.port);
    const http = await installation.serve({ DATABASE_URL: address.href });
    const state = async () => {
      const response = await fetch(`${http.url}/readyz`);
      return [response.status, ((await response.json()) as { checks?: { database: string } }).checks?.database];
    };
    await eventually(async () => Bun.deepEquals(await state(), [200, "ok"]));
    const stalledAtMs = performance.now();
    link.stall();
    await eventually(async () => Bun.deepEquals(await state(), [200, "unavailable"]));
    await eventually(async () => (await state())[0] === 503, 60_000);
    expect(performance.now() - stalledAtMs).toBeGreaterThan(20_000);
    link.heal();
    await eventually(async () => Bun.deepEquals(await state(), [200, "ok"]), 60_000);
  }, 180_000);

  test.concurrent("a draining process answers a kept-alive connection once more, and closes it", async () => {
    await using installation = await startInstallation();
    const http = await installation.serve();
    const [first, second] = [await keptAlive(http.port), await keptAlive(http.port)];
    expect(await first.get("/healthz")).toMatch(/^HTTP\/1.1 200/);
    expect(await second.get("/healthz")).toMatch(/^HTTP\/1.1 200/);
    http.signal("SIGTERM");
    await eventually(() => http.log.some(({ msg }) => msg === "stopping"));
    const answered = await first.get("/healthz");
    expect(answered).toMatch(/^HTTP\/1.1 200/);
    expect(answered).toMatch(/connection: close/i);
    expect(await second.get("/readyz")).toMatch(/^HTTP\/1.1 503[\s\S]*"draining"/);
    await Promise.all([first.closed, second.closed]);
    expect((await http.exited).code).toBe(0);
  }, 120_000);

  test.skipIf(!replicationInstalled)(
    "a standby, a replica of Redis and a member of a cluster are refused at the start in one line",
    async () => {
      await using pair = await startPostgresPair();
      await migrate(pair.primary.url, createLogger("silent"));
      await using installation = await startInstallation({ databaseUrl: pair.primary.url });
      const redis = await startRedis();
      const replica = await startRedis(undefined, ["--replicaof", "127.0.0.1", String(redis.port)]);
      const member = await startRedis(undefined, ["--cluster-enabled", "yes"]);
      try {
        const start = (env: Record<string, string>) =>
          launchServe({ ...installation.env, ...env }).then(
            () => "It serves.",
            (error: Error) => error.message.split("\n").filter((line) => line.startsWith("parley: ")),
          );
        expect(await start({ DATABASE_URL: pair.standby.url })).toEqual([
          "parley: DATABASE_URL leads to a standby, which takes no writes. Name the primary, or all its hosts.",
        ]);
        await eventually(async () =>
          Bun.deepEquals(await start({ REDIS_URL: replica.url }), [
            "parley: REDIS_URL leads to a replica, which takes no writes. Name the master.",
          ]),
        );
        expect(await start({ REDIS_URL: member.url })).toEqual([
          "parley: REDIS_URL leads to a member of a Redis Cluster. Write redis+cluster:// and the members' addresses.",
        ]);
      } finally {
        await Promise.all([redis, replica, member].map((server) => server.stop()));
      }
    },
    180_000,
  );

  test.concurrent("a server that has become read-only is left, and the address is asked again", async () => {
    await using installation = await startInstallation();
    const c = await installation.client((await installation.serve()).url);
    const admin = postgres(installation.databaseUrl, { max: 1, onnotice: () => {} });
    const [row] = await admin<{ name: string }[]>`select current_database() as name`;
    // Sessions that are open keep their own setting.
    const pids = await admin<{ pid: number }[]>`
      select pid from pg_stat_activity where datname = current_database() and application_name like 'parley-http%'`;
    expect(pids.length).toBeGreaterThan(0);
    await admin.unsafe(`alter database "${row?.name}" set default_transaction_read_only = on`);
    await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name like 'parley-http%'`;
    const created = c.request("POST", "/v1/prompts", { name: "after", template: "x" });
    await eventually(async () => {
      const [open] = await admin<{ n: number }[]>`
        select count(*)::int as n from pg_stat_activity
        where datname = current_database() and application_name = 'parley-http'`;
      return (open?.n ?? 0) > 0;
    });
    await admin.unsafe(
      `set default_transaction_read_only = off; alter database "${row?.name}" reset default_transaction_read_only`,
    );
    expect((await created).status).toBe(201);
    await admin.end();
  }, 120_000);
});

/** A connection on which several requests are made. */
async function keptAlive(port: number): Promise<{ get(path: string): Promise<string>; closed: Promise<void> }> {
  const socket: Socket = await new Promise((resolve, reject) => {
    const opened = connect(port, "127.0.0.1", () => resolve(opened));
    opened.once("error", reject);
  });
  let text = "";
  socket.on("data", (bytes) => {
    text += String(bytes);
  });
  return {
    closed: new Promise((resolve) => socket.once("close", () => resolve())),
    get: async (path) => {
      text = "";
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await eventually(() => /\r\n\r\n.*\}$/s.test(text));
      return text;
    },
  };
}
