import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { startEmbeddedPostgres } from "../src/embedded/postgres.ts";
import { createLogger } from "../src/log.ts";
import { migrate } from "../src/migrate.ts";
import { startRedis } from "../test/redis.ts";

/** One process of the stand, with the CPU time it has used. */
export interface StandProcess {
  readonly name: string;
  readonly pid: number;
}

/** A whole installation on this machine: Postgres, Redis, model, HTTP tier, workers, and the bare endpoint beside them. */
export interface Stand extends AsyncDisposable {
  readonly url: string;
  readonly bareUrl: string;
  readonly modelUrl: string;
  readonly apiKey: string;
  readonly agentId: string;
  readonly processes: readonly StandProcess[];
}

/** A process of the stand has this long to say that it is there. */
const startMs = 20_000;

/** Starts the stand. Postgres writes to disk as it does in production. */
export async function startStand(options: { readonly workers: number }): Promise<Stand> {
  const opened = new AsyncDisposableStack();
  try {
    const home = await mkdtemp(join(tmpdir(), "parley-load-"));
    opened.defer(() => rm(home, { recursive: true, force: true }));
    const database = await startEmbeddedPostgres({ home, log: () => {} });
    opened.defer(() => database.stop());
    const redis = await startRedis();
    opened.defer(() => redis.stop());
    await migrate(database.url, createLogger("warn"));

    const processes: StandProcess[] = [{ name: "redis", pid: redis.process.pid ?? 0 }];
    const run = async (name: string, args: string[], env: Record<string, string>, ready: RegExp) => {
      const started = await launch(args, env, ready);
      opened.defer(() => stop(started.child));
      processes.push({ name, pid: started.child.pid ?? 0 });
      return started.match;
    };
    const [modelUrl = ""] = await run(
      "model",
      ["src/simulated-model/main.ts", "--port", "0", "--chunk-delay-ms", "0"],
      {},
      /http:\S+/,
    );
    const [bareUrl = ""] = await run("bare", ["loadtest/bare.ts", "--model", modelUrl], {}, /http:\S+/);
    const env = {
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      ENCRYPTION_KEY: randomBytes(32).toString("base64"),
      ALLOW_PRIVATE_NETWORK: "1",
      LOG_LEVEL: "info",
      PORT: "0",
      BUN_CONFIG_MAX_HTTP_REQUESTS: "4096",
    };
    const [, url = ""] = await run("serve", ["src/main.ts", "serve"], env, /"url":"([^"]+)"/);
    for (let n = 0; n < options.workers; n++)
      await run("work", ["workers/work.ts"], { ...env, LOG_LEVEL: "warn" }, /^/);
    const { apiKey, agentId } = await seed(env, url, modelUrl);
    processes.push(await postmaster(database.url));
    return { url, bareUrl, modelUrl, apiKey, agentId, processes, [Symbol.asyncDispose]: () => opened.disposeAsync() };
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

async function launch(args: string[], env: Record<string, string>, ready: RegExp) {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const match = await new Promise<RegExpExecArray>((resolve, reject) => {
    let said = "";
    const limit = setTimeout(() => reject(new Error(`${args.join(" ")} did not start: ${said}`)), startMs);
    const look = () => {
      const found = ready.exec(said);
      if (found === null) return;
      clearTimeout(limit);
      resolve(found);
    };
    child.stdout.on("data", (data: Buffer) => {
      if (said.length < 10_000) said += data.toString();
      look();
    });
    child.once("exit", (code) => reject(new Error(`${args.join(" ")} ended with ${code}: ${said}`)));
    look();
  });
  return { child, match };
}

function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.kill("SIGKILL");
  });
}

/** A tenant with a key, a provider on the simulated model, and an agent. */
async function seed(
  env: Record<string, string>,
  url: string,
  modelUrl: string,
): Promise<{ apiKey: string; agentId: string }> {
  const { child, match } = await launch(
    ["src/main.ts", "tenant", "create", "--name", "load", "--json"],
    env,
    /"token":\s*"([^"]+)"/,
  );
  await stop(child);
  const apiKey = match[1] ?? "";
  const post = async (path: string, body: object): Promise<{ id: string }> => {
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
    const response = await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as { id: string };
  };
  const provider = await post("/v1/providers", {
    name: "simulated",
    providerType: "custom",
    baseUrl: modelUrl,
    apiKey: "sk-load",
  });
  const agent = await post("/v1/agents", { name: "load", model: "simulated/model", providerId: provider.id });
  return { apiKey, agentId: agent.id };
}

/** Postgres' main process; its children come and go with the connections, and are counted with it. */
async function postmaster(databaseUrl: string): Promise<StandProcess> {
  const sql = postgres(databaseUrl, { max: 1 });
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  const { parent } = await processStat(row?.pid ?? 0);
  await sql.end();
  return { name: "postgres", pid: parent };
}

/** Kernel clock ticks a second: how `/proc` counts CPU time. */
const ticksPerSecond = 100;

/** CPU seconds that the processes and their children have used so far, by name. Linux only; elsewhere empty. */
export async function cpuSeconds(processes: readonly StandProcess[]): Promise<Map<string, number>> {
  const pids = (await readdir("/proc").catch(() => [])).map(Number).filter((pid) => pid > 0);
  const stats = new Map(await Promise.all(pids.map(async (pid) => [pid, await processStat(pid)] as const)));
  const used = new Map<string, number>();
  for (const { name, pid } of processes) {
    const family = [...stats].filter(([id, { parent }]) => id === pid || parent === pid);
    const ticks = family.reduce(
      (sum, [id, stat]) => sum + (id === pid ? stat.ownTicks + stat.endedTicks : stat.ownTicks),
      0,
    );
    used.set(name, (used.get(name) ?? 0) + ticks / ticksPerSecond);
  }
  return used;
}

/** A process's parent, its CPU ticks and those of its children that have ended. All 0 for one that is gone. */
async function processStat(pid: number): Promise<{ parent: number; ownTicks: number; endedTicks: number }> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const number = (index: number) => Number(fields[index] ?? 0);
  return { parent: number(1), ownTicks: number(11) + number(12), endedTicks: number(13) + number(14) };
}
